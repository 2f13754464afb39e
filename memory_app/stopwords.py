"""Function words: what a question is made of and an answer is not. Dropped from queries only, never from the index."""

from typing import Final

# Spelled as analysis.py spells words before stemming: lower case, no apostrophes, no 's, 're, 've, 'll, 'd, 'm.
# "may" is missing on purpose: it is a month more often than a verb that would disturb a ranking. So is "done".
_ENGLISH: Final = """
    a an the and or but nor if then else than as so
    of at by for from in into on onto off out over under up down to toward with within without about above across after
    against along among around before behind below between beyond during through upon
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself
    it its itself they them their theirs themselves
    who whom whose which what when where why how this that these those here there
    am is are was were be been being do does did have has had having
    can could shall should will would must might ought
    cant couldnt dont doesnt didnt isnt arent aint wasnt werent wont wouldnt shouldnt hasnt havent hadnt mustnt
    no not only own same such too very just also even still again once ever already yet
    both either neither each every any some all most more other another few many much kind kinds sort
    please tell know remember remind let hi hello hey thanks
"""
ENGLISH: Final = frozenset(_ENGLISH.split())

# A run of Chinese is cut at these before it is split into pairs of characters.
_CHINESE: Final = """
    我们 咱们 你们 您们 他们 她们 它们 我的 你的 您的 他的 她的 自己 大家
    什么 什么样 为什么 干什么 什么时候 哪些 哪个 哪里 哪儿 哪位 哪种 怎么 怎样 怎么样 怎么办 如何 为何 多少 几个 谁的
    是否 是不是 有没有 能不能 可不可以 会不会 要不要 可以 应该 能够 需要 想要 记得 知道 告诉 请问 麻烦 帮我 给我 觉得
    曾经 已经 之前 以前 刚才 上次 现在 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 一下 一个 一些 一点 有点
    因为 所以 但是 不过 而且 然后 如果 或者 还是 以及 关于 对于 比较 非常
    我們 你們 他們 她們 什麼 為什麼 什麼時候 哪個 哪裡 怎麼 怎麼樣 為何 幾個
    記得 告訴 請問 這個 那個 這些 這樣 曾經 已經
"""
CHINESE: Final = tuple(_CHINESE.split())

# Dropped when they would stand as single characters; inside a pair they carry meaning.
CHINESE_CHARACTERS: Final = frozenset(
    "我你您他她它们咱的地得了着过吗呢吧啊呀哦嗯嘛啦么啥咋是在有没不和与跟同及或也都就还又很太更最把被给对从向到往为以于而但所其之"
    "这那哪谁几每某个些想要会能可请说做去来上下里中让叫用"
    "們嗎麼這誰幾個會對從還過著為與給說來裡讓"
)
