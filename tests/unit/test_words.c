/* Lists of words in one text. */
#include "config.h"
#include "common/base/words.h"
#include "tests/unit/nf_unit.h"

static void words_come_one_after_the_other(void)
{
    const char *words = "burst mixed:radices=2x3 xor", *word;
    static const char *const all[] = { "burst", "mixed:radices=2x3", "xor" };
    size_t count = 0, length;

    while ((word = nf_words_next(&words, &length)) != NULL) {
        CU_ASSERT_FATAL(count < sizeof(all) / sizeof(all[0]));
        CU_ASSERT(nf_word_is(word, length, all[count]));
        CU_ASSERT_FALSE(nf_word_is(word, length - 1, all[count]));
        count++;
    }
    CU_ASSERT_EQUAL(count, sizeof(all) / sizeof(all[0]));
    words = "";
    CU_ASSERT_PTR_NULL(nf_words_next(&words, &length));
}

static void each_word_is_there_once_in_the_order_in_which_they_came(void)
{
    static const char *const came[] = { "mixed", "burst",   "mix", "burst",
                                        "mixed", "burst:k", "mix" };
    char list[64] = "";

    for (size_t i = 0; i < sizeof(came) / sizeof(came[0]); i++)
        CU_ASSERT_TRUE(nf_words_add(list, sizeof(list), came[i]));
    CU_ASSERT_STRING_EQUAL(list, "mixed burst mix burst:k");
}

static void a_word_that_has_no_room_is_left_out_whole(void)
{
    char list[8] = "";

    CU_ASSERT_FALSE(nf_words_add(list, sizeof(list), "12345678"));
    CU_ASSERT_STRING_EQUAL(list, "");
    CU_ASSERT_TRUE(nf_words_add(list, sizeof(list), "123"));
    CU_ASSERT_FALSE(nf_words_add(list, sizeof(list), "5678"));
    CU_ASSERT_STRING_EQUAL(list, "123");
    CU_ASSERT_TRUE(nf_words_add(list, sizeof(list), "567"));
    CU_ASSERT_STRING_EQUAL(list, "123 567");
    CU_ASSERT_FALSE(nf_words_add(list, sizeof(list), "9"));
    CU_ASSERT_TRUE(nf_words_add(list, sizeof(list), "567"));
    CU_ASSERT_STRING_EQUAL(list, "123 567");
}

int main(void)
{
    CU_TestInfo words[] = {
        { "words come one after the other", words_come_one_after_the_other },
        { "each word is there once, in the order in which they came",
          each_word_is_there_once_in_the_order_in_which_they_came },
        { "a word that has no room is left out whole",
          a_word_that_has_no_room_is_left_out_whole },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "words", NULL, NULL, NULL, NULL, words },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
