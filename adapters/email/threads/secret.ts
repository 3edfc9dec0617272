// The secret that tokens and hops are made with.
import { type ChannelDeps, GatewayError } from '../../../src/contract/index.ts'

/** Made once and the same for every replica: tokens in mails that went out long ago must still be read. */
export function secretOf({ ownKeys }: Pick<ChannelDeps, 'ownKeys'>): () => Promise<string> {
  const make = (): string =>
    Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')
  let kept: Promise<string> | undefined
  const read = async (): Promise<string> => {
    if (ownKeys === undefined) return make()
    const found = await ownKeys.keep('reply-token', async () => make())
    if (found !== undefined) return found
    throw new GatewayError(
      'config_invalid',
      '[email] there is no key to seal its secret with; set PARLEY_SEAL_KEY (openssl rand -hex 32)',
    )
  }
  return () => {
    kept ??= read().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }
}
