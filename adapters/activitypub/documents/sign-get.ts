// Requests to servers that answer only verified ones: signed by our instance, in the form that every one of them knows.
import { toBase64 } from '../remote/key-material.ts'
import type { ActorKeys, KeyOwner } from './own-keys.ts'

export type SignGetDeps = { readonly keys: ActorKeys; readonly instance: KeyOwner; readonly now: () => number }

/** Headers for a GET of this URL and no other (draft-cavage-http-signatures-12). */
export function createSignGet({ keys, instance, now }: SignGetDeps): (url: string) => Promise<Record<string, string>> {
  return async (url) => {
    const { rsa } = await keys.of(instance)
    const { host, pathname, search } = new URL(url)
    const date = new Date(now()).toUTCString()
    const signed = [`(request-target): get ${pathname}${search}`, `host: ${host}`, `date: ${date}`].join('\n')
    const bytes = new TextEncoder().encode(signed)
    const signature = toBase64(new Uint8Array(await crypto.subtle.sign(rsaName, rsa.privateKey, bytes)))
    const facts = [
      `keyId="${rsa.id}"`,
      'algorithm="rsa-sha256"',
      'headers="(request-target) host date"',
      `signature="${signature}"`,
    ]
    return { date, signature: facts.join(',') }
  }
}

const rsaName = 'RSASSA-PKCS1-v1_5'
