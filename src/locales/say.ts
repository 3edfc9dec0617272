// `say`: the sentences of the gateway by key, checked by the compiler down to their parameters.
import { en } from './en.ts'

declare const fromCatalogue: unique symbol

/** What a person on a channel reads: only a catalogue makes one, so a literal does not compile where it is asked for. */
export type Sentence = string & { readonly [fromCatalogue]: true }

/** One text, or two of which the parameter `count` chooses. */
export type SentenceText = string | { readonly one: string; readonly other: string }

/** Texts by key. `{name}` in a text stands for the parameter of that name. */
export type Sentences = Readonly<Record<string, SentenceText>>

type Placeholders<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholders<Rest> : never

type Parameters<Text> = Text extends { readonly one: infer One; readonly other: infer Other }
  ? Readonly<Record<Exclude<Placeholders<One | Other>, 'count'>, string>> & { readonly count: number }
  : Readonly<Record<Placeholders<Text>, string | number>>

type Given<Text> = Text extends string
  ? [Placeholders<Text>] extends [never]
    ? readonly [parameters?: undefined]
    : readonly [parameters: Parameters<Text>]
  : readonly [parameters: Parameters<Text>]

/** `say('approval.expired', { summary })`; without a language: English. */
export type Say<Texts extends Sentences = typeof en> = <Key extends keyof Texts & string>(
  key: Key,
  ...given: [...Given<Texts[Key]>, language?: string]
) => Sentence

/** Texts by language; what one of them leaves out is said in English. */
type Languages<Texts extends Sentences> = { readonly en: Texts } & Readonly<Record<string, Sentences>>

const placeholder = /\{([a-z_]+)\}/g

/** `overrides`: texts of the operator's own, by key, instead of those of any language. */
export function createSay<const Texts extends Sentences>(
  languages: Languages<Texts>,
  overrides: Sentences = {},
): Say<Texts> {
  const findTranslation = (key: string, language: string): SentenceText =>
    overrides[key] ?? languages[language]?.[key] ?? languages.en[key] ?? key
  const sayByKey = (key: string, parameters?: Readonly<Record<string, string | number>>, language = 'en'): string => {
    const known = findTranslation(key, language)
    const text = typeof known === 'string' ? known : known[parameters?.['count'] === 1 ? 'one' : 'other']
    return parameters === undefined
      ? text
      : text.replace(placeholder, (whole, name: string) => String(parameters[name] ?? whole))
  }
  return sayByKey as unknown as Say<Texts>
}

/** Says what the gateway itself has to say. */
export const say: Say = /* @__PURE__ */ createSay({ en })

/** Sentences, and what people or agents said among them, as one text: a list, an answer of several lines. */
export function joinSentences(lines: readonly string[], separator = '\n'): Sentence {
  return lines.join(separator) as Sentence
}
