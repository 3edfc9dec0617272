// A rejected arrival in words: there is no row to tell from, only what this process remembers.
import type { Rejection } from './rejections.ts'
import { line, type Story } from './story.ts'

type Words = { readonly why: string; readonly remedy: string }

const words: Readonly<Record<string, Words>> = {
  missing_credential: {
    why: 'it brought no credential',
    remedy: 'have the sender send the credential this connection was configured with',
  },
  wrong_credential: {
    why: 'its credential is not the one that is configured',
    remedy: 'compare the secret at the platform with the one in the configuration; after a change, restart',
  },
  bad_signature: {
    why: 'its signature does not fit its body',
    remedy: 'compare the signing secret on both sides; look for a proxy that rewrites bodies',
  },
  stale_timestamp: { why: 'it was signed too long ago', remedy: 'compare the clocks of sender and gateway' },
  future_timestamp: { why: 'it was signed in the future', remedy: 'compare the clocks of sender and gateway' },
  replayed: { why: 'the same signed request had come before', remedy: 'have the sender sign every request anew' },
  not_allowed_here: {
    why: 'this connection answers callers on its own machine only',
    remedy: 'call it from there, or set up a connection for callers elsewhere',
  },
  malformed_request: { why: 'it is not the kind of request this endpoint takes', remedy: 'send JSON, and say so' },
  no_token: { why: 'it brought no token', remedy: 'send Authorization: Bearer with a token (parley tokens create)' },
  bad_token: {
    why: 'its token is unknown, expired or revoked',
    remedy: 'look at the tokens with parley tokens list, and make a new one',
  },
  wrong_scope: { why: 'its token is not for that route', remedy: 'use a token whose scopes cover it' },
}

export function tellRejection({ at, connection, reason, isLocal, bytes }: Rejection): Story {
  const { why, remedy } = words[reason] ?? { why: 'it did not prove its origin', remedy: 'look at the reason' }
  const size = bytes === null ? '' : `, ${bytes} bytes`
  const where = connection === 'admin' ? "the operator's routes" : connection
  const from = isLocal ? 'from this machine' : 'from elsewhere'
  return {
    fate: 'rejected',
    headline: `Rejected: ${why} (${reason}). Nothing of it was stored.`,
    lines: [line(at, 'Rejected', `on ${where}, ${from}${size}: ${why}. It was answered with the reason.`, 'bad')],
    next: [{ text: remedy, command: null }],
  }
}
