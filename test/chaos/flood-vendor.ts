// The vendor of the flood: refuses for the moment, with or without saying for how long, and loses answers, half of them
// after it did what was asked. Its faults depend on the seed, the text and the number of the try, not on who comes first.
import type { Fault, VendorRequest } from '../../src/testing/scripted-server.ts'
import type { VendorStub } from '../doubles/vendor-stub.ts'
import { seededRandom } from './seeded-random.ts'

export type LostAnswer = { readonly text: string; readonly wasApplied: boolean }

export type FloodedVendor = {
  /** Sends whose answer was lost, in order. */
  readonly lost: readonly LostAnswer[]
  readonly rateLimited: () => number
}

const tooMany = { kind: 'answer', status: 429, body: '{}' } as const
const lostShare = { drop: 0.1, hang: 0.01 } as const

/** Shares of all tries: the rest goes well. */
const shares: readonly (readonly [number, Fault])[] = [
  [0.1, { ...tooMany, headers: { 'retry-after': '1' } }],
  [0.1, tooMany],
  [lostShare.drop, { kind: 'drop', when: 'before' }],
  [lostShare.drop, { kind: 'drop', when: 'after' }],
  [lostShare.hang, { kind: 'hang', applied: false }],
  [lostShare.hang, { kind: 'hang', applied: true }],
]

export function floodVendor(vendor: VendorStub, seed: number, isRefused: (text: string) => boolean): FloodedVendor {
  const tries = new Map<string, number>()
  const lost: LostAnswer[] = []
  let rateLimited = 0
  const chance = (key: string): number => {
    const number = (tries.get(key) ?? 0) + 1
    tries.set(key, number)
    return seededRandom(seed + hashOf(`${number} ${key}`)).next()
  }
  const fate = (key: string, text: string | undefined): Fault | undefined => {
    let left = chance(key)
    for (const [share, fault] of shares) {
      left -= share
      if (left >= 0) continue
      if (fault.kind === 'answer') rateLimited += 1
      else if (text !== undefined) lost.push({ text, wasApplied: wasApplied(fault) })
      return fault
    }
    return undefined
  }
  const send = (request: VendorRequest): Fault | undefined => {
    const text = textOf(request)
    return isRefused(text) ? { kind: 'answer', status: 403, body: '{}' } : fate(text, text)
  }
  vendor.failBy('send', send)
  vendor.failBy('edit', send)
  vendor.failBy('lookup', ({ path }) => fate(path, undefined))
  return { lost, rateLimited: () => rateLimited }
}

function wasApplied(fault: Fault): boolean {
  return (fault.kind === 'drop' && fault.when === 'after') || (fault.kind === 'hang' && fault.applied === true)
}

function textOf({ body }: VendorRequest): string {
  return typeof body === 'object' && body !== null && 'text' in body ? String(body.text) : ''
}

/** FNV-1a */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const unit of new TextEncoder().encode(text)) hash = Math.imul(hash ^ unit, 0x01000193)
  return hash >>> 0
}
