// What a Worker sends mail by: the binding of wrangler.toml, where there is one.
import type { EmailMessageBuilder } from '@cloudflare/workers-types'
import type { Mailer } from '../contract/index.ts'
import type { WorkerEnv } from './settings.ts'

/** Cloudflare's limit of one mail. */
const maxBytes = 5 * 1024 * 1024

export function createMailerFromBinding(env: WorkerEnv): Mailer | undefined {
  const { SEND_EMAIL: binding } = env
  // A variable of that name sends nothing.
  if (typeof binding?.send !== 'function') return undefined
  // The email adapter knows the fields; what does not fit is refused by Cloudflare, with a code.
  return { maxBytes, send: (parcel) => binding.send(parcel as EmailMessageBuilder) }
}
