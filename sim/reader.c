#include "config.h"
#include "sim/reader.h"

/* A whole, not signed number of digits only; stops behind it. */
static bool read_digits(const char **text, int64_t *number_p)
{
    const char *digit = *text;
    int64_t number = 0;

    for (; *digit >= '0' && *digit <= '9'; digit++) {
        number = 10 * number + (*digit - '0');
        if (number > NF_WORLD_RATIO_MAX)
            return false;
    }
    if (digit == *text || number == 0)
        return false;
    *text = digit;
    *number_p = number;
    return true;
}

enum nf_status nf_reader_ratio(struct nf_json_reader *reader,
                               const json_t *value, struct nf_ratio *ratio_p)
{
    struct nf_ratio ratio = { 1, 1 };
    const char *text = json_string_value(value);
    bool good;

    if (json_is_integer(value)) {
        ratio.num = json_integer_value(value);
        good = ratio.num >= 1 && ratio.num <= NF_WORLD_RATIO_MAX;
    } else {
        good = text && read_digits(&text, &ratio.num);
        if (good && *text == '/') {
            text++;
            good = read_digits(&text, &ratio.den);
        }
        good = good && *text == '\0';
    }
    if (!good)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a speed such as 2 or \"1/4\" (of integers "
                              "from 1 to %d)",
                              NF_WORLD_RATIO_MAX);
    *ratio_p = ratio;
    return NF_OK;
}

static enum nf_status item_time(struct nf_json_reader *reader,
                                const json_t *list, size_t index,
                                int64_t *time_us_p)
{
    enum nf_status status;

    nf_reader_enter_item(reader, index);
    status = nf_reader_int(reader, json_array_get(list, index), 0,
                           NF_WORLD_TIME_MAX_US, time_us_p);
    if (!status)
        nf_reader_leave(reader);
    return status;
}

enum nf_status nf_reader_line(struct nf_json_reader *reader,
                              const json_t *value, struct nf_line *line_p)
{
    struct nf_line line = { 0, 0 };
    enum nf_status status;

    if (json_is_integer(value)) {
        status = nf_reader_int(reader, value, 0, NF_WORLD_TIME_MAX_US,
                               &line.fixed_us);
    } else if (json_is_array(value) && json_array_size(value) == 2) {
        status = item_time(reader, value, 0, &line.fixed_us);
        if (!status)
            status = item_time(reader, value, 1, &line.per_unit_us);
    } else {
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want microseconds, or a pair [a message, a "
                              "unit of it]");
    }
    if (!status)
        *line_p = line;
    return status;
}
