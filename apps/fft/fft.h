#ifndef NF_FFT_FFT_H
#define NF_FFT_FFT_H
/** @file fft.h  What the files of this application share.
 *
 *  The transform X of N = R C complex numbers x, of which none is more than the
 *  other than need be, by six steps.  With j = j1 C + j2 and k = k2 R + k1, where
 *  j1, k1 < R and j2, k2 < C, and w_n = exp(-2 pi i / n),
 *
 *    X[k2 R + k1] = sum over j2 of w_C^(j2 k2) w_N^(j2 k1)
 *                   (sum over j1 of w_R^(j1 k1) x[j1 C + j2])
 *
 *  so: transpose; C transforms of length R; multiply by w_N^(j2 k1); transpose;
 *  R transforms of length C; transpose.  An exchange is a transposition, so the
 *  job has four phases, and a unit has a band of lines in each:
 *
 *    phase  lines          numbers in one  what is done to each
 *    0      j1, R of them  C               nothing: they are a part of x as it is
 *    1      j2, C of them  R               transform, and the roots of N
 *    2      k1, R of them  C               transform
 *    3      k2, C of them  R               nothing: they are a part of X as it is
 *
 *  Phases 0 and 3 are only there so that slaves have x and X in their order.  In the
 *  layout of columns the first and the last transposition are the master's, who cuts
 *  x up and puts X together anyway: the job has phases 1 and 2 only, as its first and
 *  second one, and slaves have lines j2 of x, that are columns, and lines k1 of X.
 *
 *  Source: D. H. Bailey, FFTs in external or hierarchical memory, J.
 *  Supercomputing 4 (1990), 23-35. */
#include <stdbool.h>
#include "apps/app.h"
#include "nowfarm.h"

enum {
    NF_FFT_PHASES = 4, /**< at most */
    NF_FFT_COMPLEX_BYTES = 2 * sizeof(double),
    NF_FFT_SHAPE_NUMBERS = 5,
    /** Lines that go through all steps together: eight of 2^11 numbers fit into
     *  the second cache. */
    NF_FFT_TOGETHER = 8,
};

/** Of a job; shared with the slaves as five int64_t. */
struct nf_fft_shape {
    uint64_t rows, cols; /**< R, C */
    uint64_t units;
    bool inverse; /**< w_n = exp(+2 pi i / n), and X is divided by N */
    bool columns; /**< two phases */
};
/** What is done in a phase of a job: the phase of the table above. */
static inline uint32_t nf_fft_step(const struct nf_fft_shape *s, uint32_t phase)
{
    return phase + s->columns;
}
static inline uint32_t nf_fft_phases(const struct nf_fft_shape *s)
{
    return s->columns ? 2 : NF_FFT_PHASES;
}

/** The application. */
extern const struct nf_app_kind nf_app_fft;

/* steps.c: index arithmetic.  Complex numbers are pairs of doubles. */

/** @return the greatest divisor of @p count that is no more than its root: R */
uint64_t nf_fft_rows(uint64_t count);
/** Lines of all units in @p phase. */
uint64_t nf_fft_lines_in(const struct nf_fft_shape *s, uint32_t phase);
/** Numbers in each of them. */
uint64_t nf_fft_length_in(const struct nf_fft_shape *s, uint32_t phase);
/** A unit's lines in a phase. */
struct nf_fft_band {
    uint64_t first;         /**< of all lines */
    uint64_t lines, length; /**< so many, of so many numbers each */
    uint64_t units;         /**< that each line is cut for, or is made of */
};
struct nf_fft_band nf_fft_band_of(const struct nf_fft_shape *s, uint32_t phase,
                                  uint64_t unit);
/** Lines out of numbers in their order, of which each line has every stride-th.
 *  @param from    all numbers
 *  @param stride  lines of all units
 *  @param to      [lines * length] one line behind the other */
void nf_fft_take_columns(const struct nf_fft_band *b, const double *from,
                         uint64_t stride, double *to);
/** ... and back, from lines to their places among all numbers. */
void nf_fft_put_columns(const struct nf_fft_band *b, const double *from,
                        uint64_t stride, double *to);
/** Lines of a band that are at hand together: few, so that they stay in a cache
 *  from one step to the next. */
struct nf_fft_some {
    uint64_t first, count; /**< of the band's lines */
    uint64_t stride;       /**< numbers from one line to the next, in memory */
};
/** Pieces of a band.  What comes out of a phase is transposed: piece v has what the
 *  lines have in band v, number after number.
 *  @param bytes_p  [units] of each */
void nf_fft_piece_bytes(const struct nf_fft_band *b, uint64_t *bytes_p);
/** @param at  [units + 1] where pieces begin, bytes
 *  @return are they as large as those of this band? */
bool nf_fft_are_pieces(const struct nf_fft_band *b, const uint64_t *at);
/** Put some of the lines into all pieces.
 *  @param from  the first of these lines
 *  @param to    [lines * length] the pieces, one behind the other */
void nf_fft_cut(const struct nf_fft_band *b, const struct nf_fft_some *s,
                const double *from, double *to);
/** Make some of the lines, of all pieces.
 *  @param pieces  [units] where they are
 *  @param to      the first of these lines */
void nf_fft_join(const struct nf_fft_band *b, const struct nf_fft_some *s,
                 const void *const *pieces, double *to);

/* roots.c */

/** Powers of w_N, two tables of about the root of N: w^e is one of each. */
struct nf_fft_roots {
    uint64_t count;     /**< N */
    bool inverse;       /**< w = exp(+2 pi i / N), and all is divided by N */
    unsigned shift;     /**< low ones: 2^shift */
    double *low, *high; /**< w^i, w^(i 2^shift) */
    struct nf_fft_roots *next;
};
/** They are made once in a process, and stay.  Any number of threads may call it.
 *  @return NULL: out of memory */
const struct nf_fft_roots *nf_fft_roots(uint64_t count, bool inverse);
/** line[k] *= w^(j k), k < length; j (length - 1) < N; divided by N, if inverse */
void nf_fft_twiddle(const struct nf_fft_roots *roots, uint64_t j, double *line,
                    uint64_t length);
/** w^e, to the last bit or nearly. @param re_im_p  [2] */
void nf_fft_root(uint64_t e, uint64_t count, bool inverse, double *re_im_p);

/* kernel.c */

/** The kernel.  @return 0, or 1 for data that do not fit, 2 for no memory; with
 * a line in work->error */
int nf_fft_compute(const struct nf_work *work);

/* verify.c */

/** Is y the transform of x?  Compared with nf_fft_line() of the whole, and, as
 *  both may have the same bug, with its definition at some places and by
 *  Parseval's theorem.
 *  @param note_p  one line on what was compared
 *  @retval NF_ERR_VERIFY  no   @retval NF_ERR_NOMEM */
enum nf_status nf_fft_verify(const double *x, const double *y, uint64_t count,
                             bool inverse, uint64_t seed, char *note_p,
                             size_t note_bytes, struct nf_error *err);

/* fftw.c; tests have another one */

/** Transform a line of @p length numbers; an inverse is not divided by anything.
 *  Any number of threads may call it.  Plans are made once in a process, and stay.
 *  @param to  [length] not @p from
 *  @return false: out of memory */
bool nf_fft_line(const double *from, uint64_t length, bool inverse, double *to);
/** How many operations that takes: 5 n log2 n, as FFTs are counted, of powers of two,
 *  and some times as many of a length that has a large prime factor. */
double nf_fft_line_operations(uint64_t length);
#endif
