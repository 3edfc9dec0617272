// What a caller may allow beyond plain words, and how an id of a Slack user is recognised.
import { maxTextLength } from '../wire.ts'

export type BlocksOptions = {
  /** The platform's id of a user who may be notified; without one the name is only text. */
  readonly userIdOf?: (name: string) => string | undefined
  /** The conversation has granted that `<!channel>` and its like notify all members. */
  readonly broadcasts?: boolean
}

const nativeId = /^[A-Za-z0-9]{1,64}$/

/** An id that could end its own token is no id. */
export function resolveUserId(name: string, options: BlocksOptions): string | undefined {
  const id = options.userIdOf?.(name)
  return id !== undefined && nativeId.test(id) ? id : undefined
}

/** Texts and granted broadcasts in turn: odd places hold the range. */
export function splitBroadcasts(text: string, options: BlocksOptions): readonly string[] {
  return options.broadcasts === true ? text.split(/<!(channel|here|everyone)>/) : [text]
}

// Slack's limits on blocks, checked before anything is sent.

export const limits = {
  blocks: 50,
  message: maxTextLength,
  /** A fallback is read aloud or shown in a notification, so the beginning is enough. */
  fallback: 3_000,
  section: 3_000,
  header: 150,
  tableRows: 100,
  tableColumns: 20,
  tableCharacters: 10_000,
  indent: 8,
  url: 3_000,
  buttonText: 75,
  buttonValue: 2_000,
} as const
