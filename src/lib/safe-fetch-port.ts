// The interface of safe fetch, the one fetch for addresses from messages and peers.

/** Why a request was not made, or its answer not read. */
export type FetchRefusal =
  /** Not a URL, not https, with a name and password, on another port, or at a host that is not on the list. */
  | 'bad_url'
  | 'scheme'
  | 'credentials'
  | 'port'
  | 'host'
  /** Somewhere that is not public, by its address or by one of those its name stands for. */
  | 'address'
  | 'redirect'
  | 'too_large'
  | 'encoding'

export type SafeFetchResult =
  /** `url`: where the answer came from in the end. The body ends in an error once it is larger than allowed. */
  | { readonly kind: 'answered'; readonly response: Response; readonly url: string }
  | { readonly kind: 'refused'; readonly reason: FetchRefusal }
  | { readonly kind: 'failed'; readonly reason: 'timeout' | 'aborted' | 'unreachable' }

export type SafeFetchOptions = {
  readonly method?: 'GET' | 'HEAD' | 'POST'
  /** Those that prove who we are never follow a redirect to another origin. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** The only hosts to go to, exactly; without it any public one. */
  readonly hosts?: readonly string[]
  /** Origins the operator wrote down: they may be http, on any port, and named by an address. */
  readonly origins?: readonly string[]
  /** At most 3, each judged like the first; without it none is followed. */
  readonly maxRedirects?: number
  /** Of the body, after decompression. */
  readonly maxBytes?: number
  /** Until the headers of the last answer are there. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Asked right before the first byte of every request: whether it still may leave. */
  readonly mayLeave?: () => boolean
}

export interface SafeFetch {
  /** Whether it connects to the very address it judged. Where it cannot, it takes no address literals and no redirects. */
  readonly pins: boolean
  fetch(url: string, options?: SafeFetchOptions): Promise<SafeFetchResult>
}
