// Secrets that print as hidden and are opened only where they are used, and redaction of credentials in text.

/** A credential. Converting it to text or JSON never shows it; `reveal()` does. */
export type Secret = {
  readonly reveal: () => string
  readonly toString: () => string
  readonly toJSON: () => string
}

const hidden = '[hidden]'
// Node's inspector looks for this symbol; naming it through the registry needs no Node import.
const inspect = Symbol.for('nodejs.util.inspect.custom')

export function secret(value: string): Secret {
  const returnHidden = () => hidden
  return Object.freeze({ reveal: () => value, toString: returnHidden, toJSON: returnHidden, [inspect]: returnHidden })
}

// Credentials are taken out of text that operators or logs keep: by their look, and by their value where it is known.

const shown = '[redacted]'

/** Credentials that are one word and unmistakable. */
export const secretValue =
  /\b(bearer\s+[\w.~+/-]{8,}=*|xox[a-z]-[\w-]{8,}|parley_[0-9a-f]{8}_[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)/gi
/** Signed links carry their credential in the query. */
export const secretQuery = /([?&][\w-]*(?:token|sig|signature|key|credential|secret)=)[^&#\s"]+/gi

const patterns: readonly (readonly [RegExp, string])[] = [
  [secretValue, shown],
  [secretQuery, `$1${shown}`],
  [/(:\/\/)[^\s/@]{1,200}:[^\s/@]{1,200}@/g, `$1${shown}@`],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xapp|npm|hf|AKIA|AIza)[-_]?[\w-]{14,}/g, shown],
  // A bot of Telegram: its number and what follows.
  [/\b\d{6,12}:[\w-]{30,}/g, shown],
  [/-----BEGIN [A-Z ]{1,40}PRIVATE KEY-----[\s\S]*/g, shown],
  [
    /((?:password|passwd|passphrase|secret|token|api[_-]?key|credential|authorization)["']?\s{0,3}[:=]\s{0,3}["']?)[^\s"',;&)}\]]{4,}/gi,
    `$1${shown}`,
  ],
]

/** Shorter ones occur by chance: taking them out would garble the text and hide nothing. */
const shortestKnown = 4

/** `known`: values of secrets, such as what a tool was given in a sensitive parameter. */
export function redactSecrets(text: string, known: readonly string[] = []): string {
  // Longest first: a secret may contain another.
  const values = known.filter((value) => value.length >= shortestKnown).toSorted((a, b) => b.length - a.length)
  const without = values.reduce((rest, value) => rest.replaceAll(value, shown), text)
  return patterns.reduce((rest, [pattern, by]) => rest.replace(pattern, by), without)
}
