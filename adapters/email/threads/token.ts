// Reply tokens: a key of ours with a proof that we wrote it. They stand in addresses and in our Message-IDs. A person who was forwarded a
// mail has its token too, so a token says which thread is meant and never who may read it.
import type { Hmac } from '../../../src/contract/index.ts'
import { equalInConstantTime } from '../../../src/lib/index.ts'
import { base32, keyLength } from './key.ts'
import type { MailSecrets } from './secret.ts'

export interface ReplyTokens {
  mint(key: string): Promise<string>
  /** The key in a token of ours, however its case was changed. Undefined: we did not write it. */
  read(text: string): Promise<string | undefined>
}

const pattern = /^[a-z2-7]{32}$/i

/** What may be a token; whether it is one of ours takes `read`. */
export function looksLikeToken(text: string): boolean {
  return pattern.test(text)
}

/** Secrets are asked for every time: they are made when they are first needed, and may change. */
export function createReplyTokens(hmac: Hmac, { current, all }: MailSecrets): ReplyTokens {
  const tokenProof = async (key: string, secret: string): Promise<string> => {
    const bytes = new TextEncoder().encode(`reply-token ${key}`)
    return base32(await hmac.sha256(secret, bytes)).slice(0, keyLength)
  }
  return {
    mint: async (key) => key + (await tokenProof(key, await current())),
    async read(text) {
      if (!looksLikeToken(text)) return undefined
      const token = text.toLowerCase()
      const key = token.slice(0, keyLength)
      for (const secret of await all())
        if (equalInConstantTime(token.slice(keyLength), await tokenProof(key, secret))) return key
      return undefined
    },
  }
}
