// The work on a mail that runs in a thread: its exported functions are called by name (offload.ts), with data that was copied there.

import { type HeadChecks, loadHeadChecks } from '../auth/head-checks.ts'
import { type BodyForm, hashBody } from '../dkim/body-hash.ts'
import { type FoundPart, findMimePart } from '../mime/files.ts'
import { parseMailBody } from '../mime/parse-body.ts'
import type { MailBody, MailRefusal } from '../wire/mail.ts'
import { checkWithKnownAnswers, type KnownAnswer, type Round } from './dns-rounds.ts'

type Asked<Name extends keyof HeadChecks> = {
  readonly question: Parameters<HeadChecks[Name]>[0]
  readonly known: readonly KnownAnswer[]
}

export async function checkHead({ question, known }: Asked<'checkHead'>): Promise<Round<unknown>> {
  const checks = await loadHeadChecks()
  return checkWithKnownAnswers(known, (resolver) => checks.checkHead(question, resolver))
}

export async function checkArc({ question, known }: Asked<'checkArc'>): Promise<Round<unknown>> {
  const checks = await loadHeadChecks()
  return checkWithKnownAnswers(known, (resolver) => checks.checkArc(question, resolver))
}

export async function checkSpf({ question, known }: Asked<'checkSpf'>): Promise<Round<unknown>> {
  const checks = await loadHeadChecks()
  return checkWithKnownAnswers(known, (resolver) => checks.checkSpf(question, resolver))
}

export async function checkDmarc({ question, known }: Asked<'checkDmarc'>): Promise<Round<unknown>> {
  const checks = await loadHeadChecks()
  return checkWithKnownAnswers(known, (resolver) => checks.checkDmarc(question, resolver))
}

export function hashMailBody(input: {
  readonly body: Uint8Array
  readonly forms: readonly BodyForm[]
}): Promise<readonly string[]> {
  return hashBody(input.body, input.forms)
}

export function readMailBody(input: {
  readonly raw: Uint8Array
  readonly bodyStart: number
  readonly uncounted: readonly string[]
}): Promise<MailBody | MailRefusal> {
  return parseMailBody(input.raw, { bodyStart: input.bodyStart }, input.uncounted)
}

export function findMailPart(input: {
  readonly raw: Uint8Array
  readonly index: number
  readonly uncounted: readonly string[]
}): Promise<FoundPart | undefined> {
  return findMimePart(input.raw, input.index, input.uncounted)
}
