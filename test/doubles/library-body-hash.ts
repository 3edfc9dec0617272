// The hash of a body as mailauth computes it, through its own parser and in pieces: the second opinion on ours.
import { Readable } from 'node:stream'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import type { BodyForm } from '../../adapters/email/dkim/body-hash.ts'

export async function libraryBodyHash(body: Buffer, { canonicalization, length }: BodyForm, pieceBytes: number) {
  const limit = length === undefined ? '' : ` l=${length};`
  const head = `DKIM-Signature: v=1; a=rsa-sha256; c=simple/${canonicalization}; d=x.example; s=s;${limit} h=from; bh=AA==; b=AA==\r\nFrom: a@x.example\r\n\r\n`
  const pieces: Uint8Array[] = [Buffer.from(head)]
  for (let at = 0; at < body.length; at += pieceBytes) pieces.push(body.subarray(at, at + pieceBytes))
  const resolver = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
  const { results } = await dkimVerify(Readable.from(pieces), { resolver, strict: true } as Parameters<
    typeof dkimVerify
  >[1])
  return (results[0] as { readonly bodyHash?: string } | undefined)?.bodyHash
}
