// Writes the fixtures of tests/io/test_vdb_reader.py with libopenvdb, and what libopenvdb reads from them.
// Built and run by make_fixtures.py, which packs the values; needed only to make the fixtures anew.
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Dense.h>
#include <openvdb/tools/LevelSetSphere.h>

#include <cmath>
#include <cstdio>
#include <fstream>

using namespace openvdb;

static const uint32_t ZIP = io::COMPRESS_ZIP, BLOSC = io::COMPRESS_BLOSC, MASK = io::COMPRESS_ACTIVE_MASK;

static double wave(const Coord& p) { return 0.25 + std::sin(0.7 * p.x() + 0.3 * p.y() * p.z() + 0.11 * p.z()); }

template <typename GridT>
typename GridT::Ptr named(typename GridT::Ptr grid, const char* name, GridClass kind = GRID_UNKNOWN) {
    grid->setName(name);
    grid->setGridClass(kind);
    return grid;
}

// Three patches of smoke in different root children, one of them dense.
static FloatGrid::Ptr smoke(GridClass kind) {
    auto grid = named<FloatGrid>(FloatGrid::create(0.0f), "density", kind);
    auto at = grid->getAccessor();
    for (const Coord& p : CoordBBox(Coord(-6, -3, 4), Coord(5, 6, 13)))
        if ((p.x() * p.x() + 3 * p.y() + p.z()) % 5) at.setValue(p, float(wave(p)));
    for (const Coord& p : CoordBBox(Coord(8, 0, 8), Coord(15, 7, 15))) at.setValue(p, float(wave(p)));
    at.setValue(Coord(20, -9, 1), 3.0f);
    math::Mat4d m = math::Mat4d::identity();
    m.preRotate(math::Z_AXIS, 0.3);
    m.preScale(Vec3d(0.1, 0.2, 0.3));
    m.postTranslate(Vec3d(1, -2, 3));
    grid->setTransform(math::Transform::createLinearTransform(m));
    grid->insertMeta("shot", StringMetadata("a7"));
    grid->insertMeta("gain", FloatMetadata(0.5f));
    return grid;
}

// One leaf for each way of storing inactive values (io/Compression.h), and the same in internal nodes.
static FloatGrid::Ptr inactive_values() {
    auto grid = named<FloatGrid>(FloatGrid::create(2.0f), "inactive");
    auto at = grid->getAccessor();
    const float choices[7][3] = {{2, 2, 2}, {-2, -2, -2}, {5, 5, 5}, {2, -2, -2}, {7, 2, 7}, {7, 9, 7}, {7, 9, 11}};
    for (int leaf = 0; leaf < 7; ++leaf)
        for (const Coord& p : CoordBBox(Coord(8 * leaf, 0, 0), Coord(8 * leaf + 7, 7, 7))) {
            const int n = p.x() + 2 * p.y() + 3 * p.z();
            if (n % 4 == 0) at.setValueOn(p, float(wave(p)));
            else at.setValueOff(p, choices[leaf][n % 3]);
        }
    at.setValueOn(Coord(60, 1, 2), 1.0f);
    grid->tree().addTile(1, Coord(64, 0, 0), 4.5f, false);
    grid->tree().addTile(1, Coord(72, 0, 8), 5.5f, true);
    grid->tree().addTile(1, Coord(80, 0, 0), -2.0f, false);
    return grid;
}

// An active tile of 128 voxels a side and others around it.
static FloatGrid::Ptr large_tiles() {
    auto grid = named<FloatGrid>(FloatGrid::create(1.5f), "tiles", GRID_LEVEL_SET);
    grid->setTransform(math::Transform::createLinearTransform(0.25));
    grid->tree().addTile(3, Coord(-4096, 0, 0), -1.5f, false);
    grid->tree().addTile(2, Coord(0, 0, 0), 0.75f, true);
    grid->tree().addTile(2, Coord(0, 128, 0), -1.5f, false);
    grid->tree().addTile(1, Coord(128, 0, 0), 0.5f, true);
    grid->tree().addTile(1, Coord(128, 8, 0), -1.5f, false);
    auto at = grid->getAccessor();
    at.setValueOn(Coord(130, 140, 5), -0.2f);
    at.setValueOff(Coord(131, 140, 5), -1.5f);
    return grid;
}

// Tiles of every level, active and not, between a few voxels.
static FloatGrid::Ptr tiles() {
    auto grid = named<FloatGrid>(FloatGrid::create(1.5f), "tiles", GRID_LEVEL_SET);
    grid->setTransform(math::Transform::createLinearTransform(0.25));
    grid->tree().addTile(3, Coord(-4096, 0, 0), -1.5f, false);
    grid->tree().addTile(3, Coord(-4096, -4096, 0), 8.5f, false);
    grid->tree().addTile(2, Coord(0, 0, 0), -0.75f, false);
    grid->tree().addTile(1, Coord(0, -16, 0), 0.5f, true);
    grid->tree().addTile(1, Coord(8, -16, 0), -1.5f, false);
    auto at = grid->getAccessor();
    at.setValueOn(Coord(-1, -5, 3), 0.1f);
    at.setValueOff(Coord(1, -5, 3), -1.5f);
    at.setValueOn(Coord(-9, 12, 30), -0.2f);
    at.setValueOn(Coord(20, 3, -3), 0.3f);
    return grid;
}

static FloatGrid::Ptr sphere() {
    auto grid = tools::createLevelSetSphere<FloatGrid>(1.9f, Vec3f(3.92f, 3.9f, 3.88f), 0.2f, 2.0f);
    return named<FloatGrid>(grid, "surface", GRID_LEVEL_SET);
}

static Vec3SGrid::Ptr velocity(GridClass kind = GRID_UNKNOWN) {
    auto grid = named<Vec3SGrid>(Vec3SGrid::create(Vec3s(0.5f, -0.25f, 1.0f)), "vel", kind);
    grid->setVectorType(VEC_CONTRAVARIANT_RELATIVE);
    grid->setTransform(math::Transform::createLinearTransform(0.5));
    auto at = grid->getAccessor();
    for (const Coord& p : CoordBBox(Coord(-5, 2, 5), Coord(4, 9, 11)))
        at.setValue(p, Vec3s(float(wave(p)), float(p.x()), float(wave(p) * p.y())));
    return grid;
}

static DoubleGrid::Ptr fine() {
    auto grid = named<DoubleGrid>(DoubleGrid::create(-0.125), "fine");
    auto at = grid->getAccessor();
    for (const Coord& p : CoordBBox(Coord(0, 0, -4), Coord(9, 9, 3))) at.setValue(p, wave(p) / 3);
    grid->transform().postScale(Vec3d(0.1, 0.2, 0.4));
    return grid;
}

template <typename GridT>
void dump(const GridT& grid, const std::string& file, int number, FILE* list) {
    using ValueT = typename GridT::ValueType;
    const CoordBBox box = grid.evalActiveVoxelBoundingBox();
    const Coord low = box.empty() ? Coord(0) : box.min(), dim = box.empty() ? Coord(0) : box.dim();
    std::vector<ValueT> values;
    if (!box.empty()) {
        tools::Dense<ValueT, tools::LayoutZYX> dense(box);
        tools::copyToDense(grid, dense);
        values.assign(dense.data(), dense.data() + dense.valueCount());
    }
    std::ofstream(file + "." + std::to_string(number) + ".raw", std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(ValueT));
    fprintf(list, "%s|%d|%s|%s|%s|%d %d %d|%d %d %d|", file.c_str(), number, grid.getName().c_str(),
        typeNameAsString<ValueT>(), GridBase::gridClassToString(grid.getGridClass()).c_str(), low[0], low[1],
        low[2], dim[0], dim[1], dim[2]);
    const math::Mat4d m = grid.transform().baseMap()->getAffineMap()->getMat4();
    for (int i = 0; i < 16; ++i) fprintf(list, "%.17g ", m(i % 4, i / 4));
    fprintf(list, "\n");
}

static void write(const std::string& file, const GridPtrVec& grids, uint32_t compression, bool half, FILE* list) {
    for (auto& grid : grids) grid->setSaveFloatAsHalf(half);
    MetaMap about;
    about.insertMeta("fps", DoubleMetadata(24));
    {
        io::File out(file);
        out.setCompression(compression);
        out.write(grids, about);
    }
    io::File in(file);
    in.open(/*delayLoad=*/false);
    int number = 0;
    for (auto name = in.beginName(); name != in.endName(); ++name) {
        auto grid = in.readGrid(*name);
        if (auto g = gridPtrCast<FloatGrid>(grid)) dump(*g, file, number++, list);
        else if (auto g = gridPtrCast<DoubleGrid>(grid)) dump(*g, file, number++, list);
        else if (auto g = gridPtrCast<Vec3SGrid>(grid)) dump(*g, file, number++, list);
    }
}

int main() {
    initialize();
    FILE* list = fopen("list.txt", "w");
    const struct { const char* name; uint32_t flags; } ways[] = {{"zip", ZIP | MASK}, {"blosc", BLOSC | MASK}, {"mask", MASK}};
    for (auto& way : ways)
        for (bool half : {false, true}) {
            const std::string end = std::string(way.name) + (half ? "_half" : "") + ".vdb";
            write("smoke_" + end, {smoke(GRID_UNKNOWN)}, way.flags, half, list);
            write("inactive_" + end, {inactive_values()}, way.flags, half, list);
            write("surface_" + end, {sphere()}, way.flags, half, list);
            write("vel_" + end, {velocity()}, way.flags, half, list);
        }
    write("smoke_plain.vdb", {smoke(GRID_FOG_VOLUME)}, io::COMPRESS_NONE, false, list);
    write("vel_only_blosc.vdb", {velocity(GRID_STAGGERED)}, BLOSC, false, list);
    write("tiles.vdb", {tiles()}, BLOSC | MASK, false, list);
    write("tiles_large.vdb", {large_tiles()}, BLOSC | MASK, false, list);

    auto density = smoke(GRID_FOG_VOLUME);
    auto again = named<FloatGrid>(density->copy(), "again", GRID_FOG_VOLUME);
    again->setTransform(math::Transform::createLinearTransform(0.5));
    auto twin = named<FloatGrid>(FloatGrid::create(0.0f), "density");
    twin->tree().setValue(Coord(1, 2, 3), 4.0f);
    auto mask = named<BoolGrid>(BoolGrid::create(false), "mask");
    mask->tree().setValue(Coord(1, 2, 3), true);
    auto nothing = named<FloatGrid>(FloatGrid::create(0.5f), "nothing");
    write("several.vdb", {mask, density, again, fine(), nothing, twin}, BLOSC | MASK, false, list);
    {
        io::File out("mask_only.vdb");
        out.write(GridPtrVec{mask});
        std::ofstream stream("stream.vdb", std::ios::binary);
        io::Stream(stream).write(GridPtrVec{fine(), velocity()});
    }
    fclose(list);
}
