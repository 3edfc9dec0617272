// A file that a message refers to, opened at its platform.

/** What a platform gave for a file. `mime` and `name` are its words; the bytes are judged by the store. */
export type OpenedFile =
  | {
      readonly kind: 'opened'
      readonly body: ReadableStream<Uint8Array>
      readonly mime?: string
      readonly name?: string
      readonly size?: number
    }
  /** For good: gone, too large for the platform's own API, not ours to read, or a login page in its place. */
  | { readonly kind: 'refused'; readonly reason: 'gone' | 'too_large' | 'not_allowed' | 'login_page' }
  | { readonly kind: 'retry'; readonly reason: string }
