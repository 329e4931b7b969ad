/* SPDX-License-Identifier: Apache-2.0 */
/* A block is a file of the spool: a mark, parts, and a checksum. A part is a head of numbers and
 * gzip of RowBinary. */
#include "base/crc32.h"
#include "store/clickhouse/parts.h"

#define MARK "stkblk01"
#define MARK_SIZE (sizeof MARK - 1)

void clickhouse_put(struct output *o, uint64_t value, unsigned size)
{
    char bytes[8];
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (char)(value >> (8 * i));
    output_bytes(o, bytes, size);
}

void clickhouse_put_double(struct output *o, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    clickhouse_put(o, bits, sizeof bits);
}

void clickhouse_put_text(struct output *o, struct str text)
{
    uint64_t left = text.len;
    for (; left >= 0x80; left >>= 7)
        output_char(o, (char)(left | 0x80));
    output_char(o, (char)left);
    output_str(o, text);
}

void clickhouse_block_begin(struct output *o)
{
    output_text(o, MARK);
}

void clickhouse_block_add(struct output *o, const struct clickhouse_part *part)
{
    const uint64_t numbers[] = {part->block, part->start, part->end, part->samples,
                                part->lost};
    clickhouse_put(o, part->table, 4);
    clickhouse_put(o, part->day, 4);
    clickhouse_put(o, part->rows, 4);
    clickhouse_put(o, part->packed.len, 4);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        clickhouse_put(o, numbers[i], 8);
    clickhouse_put_double(o, part->rate);
    output_str(o, part->packed);
}

static uint32_t checksum(struct str bytes)
{
    struct crc32 sum;
    crc32_init(&sum);
    return crc32_sum(&sum, bytes);
}

void clickhouse_block_end(struct output *o)
{
    clickhouse_put(o, checksum(output_contents(o)), 4);
}

bool clickhouse_block_open(struct bytes *b, struct str bytes)
{
    if (bytes.len < MARK_SIZE + 4 || !str_starts(bytes, STR(MARK)))
        return false;
    struct str content = str_head(bytes, bytes.len - 4);
    struct bytes end = bytes_of(str_skip(bytes, content.len), false);
    *b = bytes_of(content, false);
    bytes_skip(b, MARK_SIZE);
    return bytes_u32(&end) == checksum(content);
}

bool clickhouse_block_next(struct bytes *b, struct clickhouse_part *part)
{
    uint64_t *const numbers[] = {&part->block, &part->start, &part->end, &part->samples,
                                 &part->lost};
    if (bytes_left(b) == 0)
        return false;
    part->table = bytes_u32(b);
    part->day = bytes_u32(b);
    part->rows = bytes_u32(b);
    uint32_t size = bytes_u32(b);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = bytes_u64(b);
    part->rate = clickhouse_double(b);
    part->packed = bytes_take(b, size);
    return !b->failed && part->table < CLICKHOUSE_TABLES;
}
