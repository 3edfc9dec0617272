// Which parameter names are secrets by their look. Whole words are compared, so that `max_tokens`, `next_page_token` and
// `secretary` stay readable.
export const redacted = '[redacted]'

/** Unmistakable also inside a word: `userpassword`. */
const anywhere = /password|passwd|passphrase|api_?key|private_?key|credential|authorization|auth_?token/

const wholeWords =
  /(^|_)(bearer|cookies?|nonces?|secrets?|session_?ids?|(access|signing|encryption|secret)_?keys?|(client|api|app)_?secrets?|(access|refresh|bearer|session|bot|csrf|xsrf|api|oauth|jwt|id)_?tokens?|tokens?_(value|hash))(_|$)/

const endsInToken = /(^|_)token$/
/** Tokens that lead to the next page or mark a place in a text. */
const harmlessToken =
  /(^|_)(page|paging|pagination|next|prev|previous|continuation|continue|cursor|sync|resume|start|end|stop|eos|bos|pad|unk|mask|max|min)_token$/

export function isSensitiveKey(key: string): boolean {
  const words = splitKeyWords(key)
  if (anywhere.test(words) || wholeWords.test(words)) return true
  return endsInToken.test(words) && !harmlessToken.test(words)
}

/** `apiKey`, `API-Key` and `api key` are all `api_key`. */
function splitKeyWords(key: string): string {
  return key
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
}
