// Mails that are made to pass for somebody else's, with real keys and records: of each it is said why it is not believed.
import { describe, expect, test } from 'vitest'
import { provenMail } from '../../doubles/authenticated-mail.ts'
import { draftMail, signMail } from '../../doubles/signed-mails.ts'
import { type Attack, bothZones } from './attack.ts'
import { authorAttacks, fieldAttacks } from './from-attacks.ts'
import { chainAttacks, duplicateAttacks, replayAttacks, verdictAttacks } from './relay-attacks.ts'
import { signatureAttacks } from './signature-attacks.ts'

const suites: Readonly<Record<string, readonly Attack[]>> = {
  'by its author': authorAttacks,
  'by a second author': fieldAttacks,
  'by its signature': signatureAttacks,
  'by a second field': duplicateAttacks,
  'by a verdict it brings': verdictAttacks,
  'by relays': chainAttacks,
  'by being sent again': replayAttacks,
}

test('the victim’s own mail is believed, so that the attacks fail for what they are', async () => {
  const proof = await provenMail(await signMail(draftMail()), { zone: bothZones() })
  expect(proof).toMatchObject({ standing: 'verified', author: { address: 'alice@sender.example' } })
})

test('there are at least sixty of them, and none of them is taken for the victim', async () => {
  const all = Object.values(suites).flat()
  const believed: string[] = []
  for (const { name, mail, proving } of all) {
    const proof = await provenMail(await mail(), { zone: bothZones(), ...proving?.() })
    if ('author' in proof && proof.author?.domain === 'sender.example') believed.push(name)
  }
  expect(believed).toEqual([])
  expect(all.length).toBeGreaterThanOrEqual(60)
})

describe.each(Object.entries(suites))('a mail that deceives %s', (_, attacks) => {
  test.each(attacks)('is not believed when $name ($reason)', async ({ mail, proving, reason, by }) => {
    const proof = await provenMail(await mail(), { zone: bothZones(), ...proving?.() })
    const reasons = 'reasons' in proof ? proof.reasons : [proof.reason]
    expect(reasons.join('\n')).toContain(reason)
    expect('author' in proof ? proof.author?.address : undefined).toBe(by)
  })
})
