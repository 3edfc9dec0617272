// The secret that tokens and hops are made with.
import { type ChannelDeps, GatewayError, type KeyRing } from '../../../src/contract/index.ts'

export type MailSecrets = {
  readonly current: () => Promise<string>
  /** Those before it as well, the newest first. */
  readonly all: () => Promise<readonly string[]>
}

/** People answer old mails: as long as a receipt is usually kept, and longer. */
const formerSecretsMs = 400 * 24 * 60 * 60 * 1000

/** Made once and the same for every replica: tokens in mails that went out long ago must still be read. */
export function createMailSecrets({ ownKeys }: Pick<ChannelDeps, 'ownKeys'>): MailSecrets {
  const randomMailSecret = (): string =>
    Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')
  let lone: string | undefined
  const readKeyRing = async (): Promise<KeyRing> => {
    if (ownKeys === undefined) {
      lone ??= randomMailSecret()
      return { signing: lone, all: [lone] }
    }
    const found = await ownKeys.ring('reply-token', async () => randomMailSecret(), formerSecretsMs)
    if (found !== undefined) return found
    throw new GatewayError(
      'config_invalid',
      '[email] there is no key to seal its secret with; set PARLEY_SEAL_KEY (openssl rand -hex 32)',
    )
  }
  return { current: async () => (await readKeyRing()).signing, all: async () => (await readKeyRing()).all }
}
