#ifndef NF_BASE_ENDIAN_H
#define NF_BASE_ENDIAN_H
/** @file endian.h  Numbers in bytes of a stated order, at any address.  A copy
 *  and a swap, which compilers turn into one instruction: a loop over the bytes
 *  of every number was a tenth of what the master computes for a unit. */
#include <endian.h>
#include <stdint.h>
#include <string.h>

/** Store @p value in 4 bytes at @p to, the lowest byte first. */
static inline void nf_store_le32(uint8_t *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
}

/** Store @p value in 8 bytes at @p to, the lowest byte first. */
static inline void nf_store_le64(uint8_t *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
}

/** @return the number in 4 bytes at @p from, the lowest byte first */
static inline uint32_t nf_load_le32(const uint8_t *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

/** @return the number in 8 bytes at @p from, the lowest byte first */
static inline uint64_t nf_load_le64(const uint8_t *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

/** Store @p value in 2 bytes at @p to, the highest byte first. */
static inline void nf_store_be16(uint8_t *to, uint16_t value)
{
    value = htobe16(value);
    memcpy(to, &value, sizeof(value));
}

/** Store @p value in 4 bytes at @p to, the highest byte first. */
static inline void nf_store_be32(uint8_t *to, uint32_t value)
{
    value = htobe32(value);
    memcpy(to, &value, sizeof(value));
}

/** Store @p value in 8 bytes at @p to, the highest byte first. */
static inline void nf_store_be64(uint8_t *to, uint64_t value)
{
    value = htobe64(value);
    memcpy(to, &value, sizeof(value));
}

/** @return the number in 2 bytes at @p from, the highest byte first */
static inline uint16_t nf_load_be16(const uint8_t *from)
{
    uint16_t value;

    memcpy(&value, from, sizeof(value));
    return be16toh(value);
}

/** @return the number in 4 bytes at @p from, the highest byte first */
static inline uint32_t nf_load_be32(const uint8_t *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return be32toh(value);
}

/** @return the number in 8 bytes at @p from, the highest byte first */
static inline uint64_t nf_load_be64(const uint8_t *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return be64toh(value);
}

#endif
