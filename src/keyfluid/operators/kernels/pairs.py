"""Values read two by two: neighbours along the last axis lie side by side in memory, so one load fetches both.

Machine code for gathers reads every value by itself. Eight loads of a pair each, sorted into a vector of left
neighbours and one of right neighbours, take a third of the time of two such gathers (measured at 128^3 on a
processor with AVX2); LLVM does not find this by itself, so the block of eight is written out for it here.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from keyfluid.kernels.compile import row_function
from keyfluid.kernels.lattice import at

LANES = 8


@intrinsic
def _eight_pairs(typing_context, a, shift, place, p, left, right, out):
    """For k < 8, with o = shift + place[p + k]: out[left + k] = a[o] and out[right + k] = a[o + 1]."""
    signature = types.void(a, shift, place, p, left, right, out)

    def generate(context, builder, signature, arguments):
        def data(position):
            return context.make_array(signature.args[position])(context, builder, arguments[position]).data

        def shuffle(first, second, order):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))
            return builder.shuffle_vector(first, second, mask)

        def store(vector, offset):
            target = builder.gep(data(6), [offset], inbounds=True)
            builder.store(vector, builder.bitcast(target, vector.type.as_pointer()), align=size)

        values, places, begin = data(0), data(2), arguments[3]
        real = values.type.pointee
        size = context.get_abi_sizeof(real)
        pairs = []
        for k in range(LANES):
            here = builder.add(begin, ir.Constant(begin.type, k))
            offset = builder.sext(builder.load(builder.gep(places, [here], inbounds=True)), begin.type)
            pair = builder.gep(values, [builder.add(arguments[1], offset)], inbounds=True)
            pairs.append(builder.load(builder.bitcast(pair, ir.VectorType(real, 2).as_pointer()), align=size))
        # Halves of a vector register are filled with points 0-3 and 4-7, so that sorting stays within halves.
        twos = [shuffle(pairs[k], pairs[k + 1], range(4)) for k in (0, 2, 4, 6)]
        low, high = shuffle(twos[0], twos[2], range(8)), shuffle(twos[1], twos[3], range(8))
        store(shuffle(low, high, (0, 2, 8, 10, 4, 6, 12, 14)), arguments[4])
        store(shuffle(low, high, (1, 3, 9, 11, 5, 7, 13, 15)), arguments[5])
        return context.get_dummy_value()

    return signature, generate


@row_function
def pair_row(a, shift, place, p, m, out, left):
    """out[left + k] = a[o] and out[left + m + k] = a[o + 1] for k < m, with o = shift + place[p + k]."""
    whole = m - m % LANES
    for k in range(0, whole, LANES):
        _eight_pairs(a, shift, place, p + k, left + k, left + m + k, out)
    for k in range(whole, m):
        o = shift + place[at(p + k)]
        out[at(left + k)] = a[at(o)]
        out[at(left + m + k)] = a[at(o + 1)]
