// Published vectors: RFC 9421 appendix B, draft-cavage-12 appendix C, FEP-8b32 and eddsa-jcs-2022 (mail AP-051, AP-052).
import { createPublicKey, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSignatureChecker } from '../../../../../adapters/activitypub/signatures/check-signature.ts'
import {
  cavageSigningText,
  parseMessageSignatures,
  signatureBase,
} from '../../../../../adapters/activitypub/signatures/http-signatures.ts'
import { parseProofs } from '../../../../../adapters/activitypub/signatures/integrity-proof.ts'
import { decodeBase58 } from '../../../../../adapters/activitypub/signatures/key-material.ts'
import type { Algorithm, SignedRequest } from '../../../../../adapters/activitypub/signatures/signed-request.ts'
import { parseDictionary } from '../../../../../adapters/activitypub/signatures/structured-fields.ts'
import type { RemoteKey } from '../../../../../adapters/activitypub/wire/activity.ts'
import proofs from '../../../../fixtures/signatures/eddsa-jcs-2022.json' with { type: 'json' }
import rfc from '../../../../fixtures/signatures/rfc9421-appendix-b.json' with { type: 'json' }

const checker = createSignatureChecker()
const utf8 = new TextEncoder()

type Label = keyof typeof rfc.signatures
// The file holds algorithms by their names.
const keys = rfc.keys as Readonly<Record<string, Pick<RemoteKey, 'algorithm' | 'spki'>>>

const testRequest: SignedRequest = {
  method: 'POST',
  scheme: 'https',
  authority: 'example.com',
  path: '/foo',
  query: '?param=Value&Pet=dog',
  headers: {
    date: 'Tue, 20 Apr 2021 02:07:55 GMT',
    'content-type': 'application/json',
    'content-digest': rfc.contentDigest,
    'content-length': '18',
  },
}
const requests: Readonly<Partial<Record<Label, SignedRequest>>> = {
  'sig-b21': testRequest,
  'sig-b23': testRequest,
  'sig-b26': testRequest,
  ttrp: { ...testRequest, authority: 'service.internal.example', headers: { 'client-cert': rfc.clientCert } },
  transform: {
    method: 'GET',
    scheme: 'https',
    authority: 'example.org',
    path: '/demo',
    query: '?name1=Value1&Name2=value2',
    headers: { accept: 'application/json, */*' },
  },
}

function listOf(label: Label) {
  const member = parseDictionary(rfc.signatures[label].input)?.get(label)
  if (member?.kind !== 'list') throw new Error('no list')
  return member
}

function checked(label: Label, keyId: string, base: string, algorithm?: Algorithm) {
  const member = parseDictionary(rfc.signatures[label].signature)?.get(label)
  const key = keys[keyId]
  if (member?.kind !== 'item' || member.bare.type !== 'bytes' || key === undefined) throw new Error('no signature')
  return checker.check(key, algorithm, member.bare.value, utf8.encode(base))
}

describe('AP-052: RFC 9421, appendix B', () => {
  test.each(['sig-b21', 'sig-b23', 'sig-b26', 'ttrp', 'transform'] as const)(
    '%s: the base is the published one',
    (label) => {
      const request = requests[label]
      if (request === undefined) throw new Error('no request')
      expect(signatureBase(request, listOf(label))).toBe(rfc.signatures[label].base)
    },
  )

  test.each([
    ['sig-b21', 'test-key-rsa-pss', 'rsa-pss-sha512'],
    ['sig-b22', 'test-key-rsa-pss', 'rsa-pss-sha512'],
    ['sig-b23', 'test-key-rsa-pss', 'rsa-pss-sha512'],
    ['sig-b24', 'test-key-ecc-p256', undefined],
    ['sig-b26', 'test-key-ed25519', undefined],
    ['ttrp', 'test-key-ecc-p256', undefined],
    ['transform', 'test-key-ed25519', undefined],
  ] as const)('%s: the signature is right, and wrong over one more byte', async (label, keyId, algorithm) => {
    const { base } = rfc.signatures[label]
    expect(await checked(label, keyId, base, algorithm)).toBe('right')
    expect(await checked(label, keyId, `${base} `, algorithm)).toBe('wrong')
  })

  test.each([
    ['sig-b21', 'missing_coverage'],
    ['sig-b22', 'unknown_component'],
    ['sig-b23', 'passed'],
    ['sig-b25', 'missing_coverage'],
    ['sig-b26', 'missing_coverage'],
  ] as const)('%s as a delivery at its time: %s', (label, expected) => {
    const { input, signature } = rfc.signatures[label]
    const headers = { ...testRequest.headers, 'signature-input': input, signature }
    const [step] = parseMessageSignatures({ ...testRequest, headers }, 1_618_884_473_000)
    expect(step?.kind === 'refused' ? step.reason : step?.kind).toBe(expected)
  })

  test('what was changed on the way is another base: method, authority, order of values', () => {
    const request = requests.transform as SignedRequest
    const { base } = rfc.signatures.transform
    const changed = [
      { ...request, method: 'POST', authority: 'example.com' },
      { ...request, headers: { accept: '*/*, application/json' } },
    ]
    expect(changed.map((each) => signatureBase(each, listOf('transform')) === base)).toEqual([false, false])
    const unchanged = { ...request, query: '?name1=Value1&Name2=value2&param=added' }
    expect(signatureBase(unchanged, listOf('transform'))).toBe(base)
  })
})

describe('AP-052: draft-cavage-12, appendix C', () => {
  // 1024 bits: too short for the gate, so the platform's own function is asked.
  const spki =
    'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDCFENGw33yGihy92pDjZQhl0C36rPJj+CvfSC8+q28hxA161QFNUd13wuCTUcq0Qd2qsBe/2hFyc2DCJJg0h1L78+6Z4UMR7EOcpfdUE9Hf3m/hs+FUR45uBJeDK1HSFHD8bHKD6kv8FPGfJTotc+2xjJwoYi+1hqp1fIekaxsyQIDAQAB'
  const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
  const request: SignedRequest = {
    method: 'POST',
    scheme: 'https',
    authority: 'example.com',
    path: '/foo',
    query: '?param=value&pet=dog',
    headers: {
      host: 'example.com',
      date: 'Sun, 05 Jan 2014 21:31:40 GMT',
      'content-type': 'application/json',
      digest: 'SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=',
      'content-length': '18',
    },
  }
  test.each([
    [
      'C.1',
      'date',
      'SjWJWbWN7i0wzBvtPl8rbASWz5xQW6mcJmn+ibttBqtifLN7Sazz6m79cNfwwb8DMJ5cou1s7uEGKKCs+FLEEaDV5lp7q25WqS+lavg7T8hc0GppauB6hbgEKTwblDHYGEtbGmtdHgVCk9SuS13F0hZ8FD0k/5OxEPXe5WozsbM=',
    ],
    [
      'C.2',
      '(request-target) host date',
      'qdx+H7PHHDZgy4y/Ahn9Tny9V3GP6YgBPyUXMmoxWtLbHpUnXS2mg2+SbrQDMCJypxBLSPQR2aAjn7ndmw2iicw3HMbe8VfEdKFYRqzic+efkb3nndiv/x1xSHDJWeSWkx3ButlYSuBskLu6kd9Fswtemr3lgdDEmn04swr2Os0=',
    ],
    [
      'C.3',
      '(request-target) host date content-type digest content-length',
      'vSdrb+dS3EceC9bcwHSo4MlyKS59iFIrhgYkz8+oVLEEzmYZZvRs8rgOp+63LEM3v+MFHB32NfpB2bEKBIvB1q52LaEUHFv120V01IL+TAD48XaERZFukWgHoBTLMhYS2Gb51gWxpeIq8knRmPnYePbF5MOkR0Zkly4zKH7s1dE=',
    ],
  ])('%s: the published signature is one of our text', (_, names, signature) => {
    const text = cavageSigningText(request, names.split(' '), new Map(), request.path + request.query) ?? ''
    expect(verify('sha256', Buffer.from(text), key, Buffer.from(signature, 'base64'))).toBe(true)
  })

  test('a key of 1024 bits is of no use here', async () => {
    const judgement = await checker.check({ algorithm: 'rsa', spki }, undefined, new Uint8Array(128), new Uint8Array(1))
    expect(judgement).toBe('key_unusable')
  })
})

describe('AP-051: proofs', () => {
  const at = Date.parse('2023-02-24T23:36:38Z')
  const raw = decodeBase58(proofs.publicKeyMultibase.slice(1), 34)?.slice(2) ?? new Uint8Array()
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]).toString('base64')

  async function judged(document: object) {
    const [step] = await parseProofs(document as Record<string, unknown>, at)
    if (step?.kind !== 'passed') return step
    const { signature, signed } = step.value
    const judgements = signed.map((bytes) => checker.check({ algorithm: 'ed25519', spki }, 'ed25519', signature, bytes))
    return Promise.all(judgements)
  }

  test.each(['fep8b32', 'vcDiEddsa'] as const)('%s: right as published', async (name) => {
    expect(await judged(proofs[name])).toEqual(['right'])
  })

  test.each(['fep8b32', 'vcDiEddsa'] as const)(
    '%s: wrong with one byte changed, in the document or the proof',
    async (name) => {
      const document: { id: string; proof: { created: string; proofValue: string } } = proofs[name]
      const changed = [
        { ...document, id: document.id.replace(/.$/, '2') },
        { ...document, more: 1 },
        { ...document, proof: { ...document.proof, created: '2023-02-24T23:36:39Z' } },
        { ...document, proof: { ...document.proof, proofValue: document.proof.proofValue.replace(/.$/, '2') } },
      ]
      for (const each of changed) expect(await judged(each)).toEqual(['wrong'])
    },
  )

  test('what is signed is the published hash', async () => {
    const [step] = await parseProofs(proofs.vcDiEddsa, at)
    const [signed] = step?.kind === 'passed' ? step.value.signed : []
    expect(Buffer.from(signed ?? []).toString('hex')).toBe(
      '66ab154f5c2890a140cb8388a22a160454f80575f6eae09e5a097cabe539a1db59b7cb6251b8991add1ce0bc83107e3db9dbbab5bd2c28f687db1a03abc92f19',
    )
  })
})
