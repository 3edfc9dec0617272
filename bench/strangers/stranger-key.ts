// The key that strangers of the bench sign with: a domain of one's own costs nothing.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'

export const strangerSelector = 's1'

let made: { readonly privateKey: KeyObject; readonly record: string; readonly pem: string } | undefined

/** Made when it is first asked for. */
export function strangerKey(): NonNullable<typeof made> {
  if (made !== undefined) return made
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  made = {
    privateKey,
    record: `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`,
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
  return made
}
