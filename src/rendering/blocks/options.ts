// What a caller may allow beyond plain words, and how a native id is recognised.

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
