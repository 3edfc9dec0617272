// Which token a call is made with: the one in the settings, unless an installation's own is handed in.
import type { Secret } from '../../../src/contract/index.ts'

export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: Secret }
  /** The app is not installed there, or not any more. */
  | { readonly kind: 'gone'; readonly reason: string }
  | { readonly kind: 'retry'; readonly reason: string }

/** Asked for every call, so that no two installations ever share one. */
export type SlackTokenLookup = (account: string) => Promise<TokenAnswer>

/** Slack said that a token is no good. Undefined: there is none to try in its place. */
export type OnTokenFailed = (account: string, token: Secret, error: string) => Promise<Secret | undefined>

export function staticTokenLookup({ botToken }: { readonly botToken: Secret }): SlackTokenLookup {
  return async () => ({ kind: 'token', token: botToken })
}
