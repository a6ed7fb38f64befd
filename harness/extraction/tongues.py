"""The commonest labels of blocks in German, French, Spanish, Portuguese, Italian and Chinese."""

import re

_ENDS = r"(?:\W+(?:ist|w\u00e4re|sind|also|daher|est|serait|es|ser\u00eda|donc))*\W*$"
_WRONG = re.compile(
    r"\b(?:falsch|fehlerhaft|nicht so|so nicht|lieber nicht|(?<!wie )vorher|(?<!wie )bisher"
    r"|(?:dein|ihr|euer) (?:code|loop)|deine schleife"
    r"|à ne pas faire|ne (?:faites|fais|fa[iî]tes) pas|incorrecte?s?|mauvaise?|erronée?|fautive?"
    r"|(?<!comme )avant|votre (?:code|boucle)|ton code|ta boucle"
    r"|incorrect[oa]s?|está mal|no hagas|no hagan|no uses|(?<!como )antes"
    r"|(?:tu|su) (?:código|bucle)"
    r"|errad[oa]s?|não faça|seu código|sbagliat[oa]|da non fare|il tuo codice)"
    rf"{_ENDS}"
    r"|(?:错误|不对|不要这样|有问题|修改前|改之前|之前|原来的代码|你的代码)[^。]{0,6}$",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\b(?:richtig|korrekt|korrigiert\w*|besser|nachher|stattdessen|correcte?|corrigée?s?|après"
    r"|correct[oa]s?|corregid[oa]s?|después|corrigid[oa]s?|depois|corrett[oa]|dopo)"
    rf"{_ENDS}"
    r"|(?:正确|修改后|改为|改成|改完|应该|修正)[^。]{0,8}$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"^\W*(?:"
    r"(?:moment|halt|stopp?|nein|ach|ups|warte|attendez|attends|oups|espera|esperen|perdón|ojo|espere"
    r"|aspetta|scusa|desculpa|opa|mince)\s*[,.!:;\u2014\u2013-]"
    r"|(?:das|dies|der (?:code|block)|so) (?:ist|war|stimmt|geht) (?:so |noch |leider |ja |das )*"
    r"(?:falsch|nicht (?:ganz )?(?:richtig|korrekt)|nicht[.:!]|verkehrt)"
    r"|korrektur\b|berichtigung\b|ich habe mich (?:vertan|geirrt)"
    r"|(?:c'est|cela est|ceci est) (?:faux|incorrect|encore faux)|je me suis trompée?|erratum\b"
    r"|correction\s*:|(?:eso|esto) (?:está mal|es incorrecto)|me equivoqué|corrección\b|rectifico\b"
    r"|(?:isso|isto) está errado|correção\b|correzione\b|ho sbagliato"
    r"|等等|等一下|不对|更正|抱歉|上面(?:的代码)?(?:不对|错|有误|有错))",
    re.IGNORECASE,
)


def called_wrong(words: str) -> bool:
    """Whether a heading, or the end of a sentence before a block, calls it wrong or what was before."""
    return bool(_WRONG.search(words))


def called_right(words: str) -> bool:
    """Whether they call it right, or what comes instead."""
    return bool(_RIGHT.search(words))


def taken_back_in(after: str) -> bool:
    """Whether the words that follow a block say that it is wrong: "Moment, das ist falsch"."""
    return bool(_TAKEN_BACK.search(after))
