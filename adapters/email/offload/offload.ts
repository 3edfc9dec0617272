// Offloads the parts of verification whose work grows with what strangers send to the runtime's threads.
import { type ChannelDeps, OffloadError } from '../../../src/contract/index.ts'
import type { DmarcQuestion, HeadChecks, HeadQuestion } from '../auth/head-checks.ts'
import { createMailChecks, type MailChecks } from '../auth/mail-checks.ts'
import { hashBody } from '../dkim/body-hash.ts'
import type { Resolve } from '../dns.ts'
import type { FindPart, FoundPart } from '../mime/files.ts'
import type { MailBody, MailHead, MailRefusal } from '../wire/mail.ts'
import { checkUntilAnswersKnown, type KnownAnswer, type Need, type Round } from './dns-rounds.ts'
import { offloadErrorToRefusal } from './load-shedding.ts'

/** Beside this file; in the built package beside the bundle, under the name that scripts/build.js gives it. */
const threadModuleUrl = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './email-thread.js', import.meta.url)

/** To hand over a smaller body costs more than to hash it. */
const smallBytes = 64 * 1024

type Offload = NonNullable<ChannelDeps['offload']>

export function createOffloadedMailChecks(offload: Offload): MailChecks {
  const offloadHeadCheck = <Answer>(
    name: keyof HeadChecks,
    question: object,
    resolve: Resolve,
    likely?: readonly Need[],
  ) =>
    checkUntilAnswersKnown(
      resolve,
      async (known: readonly KnownAnswer[]) => {
        const headCheckThreadInput = () => ({ value: { question, known } })
        return (await offload({
          module: threadModuleUrl(),
          name,
          input: headCheckThreadInput,
          bytes: 0,
        })) as Round<Answer>
      },
      likely,
    )
  const checks: HeadChecks = {
    checkHead: (question, resolve) => offloadHeadCheck('checkHead', question, resolve, likelyDkimKeyQueries(question)),
    checkArc: (question, resolve) => offloadHeadCheck('checkArc', question, resolve),
    checkSpf: (question, resolve) => offloadHeadCheck('checkSpf', question, resolve),
    checkDmarc: (question, resolve) =>
      offloadHeadCheck('checkDmarc', question, resolve, likelyDmarcPolicyQueries(question)),
  }
  return createMailChecks(checks, async (raw, bodyStart, forms) => {
    const bytes = raw.length - bodyStart
    if (bytes <= smallBytes) return hashBody(raw.subarray(bodyStart), forms)
    const bodyHashThreadInput = () => {
      const body = copyBytes(raw.subarray(bodyStart))
      return { value: { body, forms }, transfer: [body.buffer] }
    }
    return (await offload({
      module: threadModuleUrl(),
      name: 'hashMailBody',
      input: bodyHashThreadInput,
      bytes,
    })) as readonly string[]
  })
}

/** Where the keys of its signatures stand, read loosely: what is missed is asked for in the next round. */
function likelyDkimKeyQueries({ head }: HeadQuestion): readonly Need[] {
  const fields = new TextDecoder().decode(head).split(/\r\n(?![ \t])/)
  const signatures = fields.filter((field) => /^dkim-signature[ \t]*:/i.test(field)).map((field) => field.slice(14))
  return signatures.flatMap((field) => {
    const [domain, selector] = ['d', 's'].map((tag) => new RegExp(`[:;]\\s*${tag}=\\s*([^;\\s]+)`).exec(field)?.[1])
    if (domain === undefined || selector === undefined) return []
    return [{ name: `${selector}._domainkey.${domain}`, type: 'TXT' }]
  })
}

/** Where policies for a domain stand: with itself, and with the one above it. */
function likelyDmarcPolicyQueries({ headerFrom: [address = ''] }: DmarcQuestion): readonly Need[] {
  const labels = address.slice(address.lastIndexOf('@') + 1).split('.')
  const domains = [labels, labels.slice(1)].filter(({ length }) => length > 0)
  return domains.map((domain) => ({ name: `_dmarc.${domain.join('.')}`, type: 'TXT' }))
}

export async function offloadReadBody(
  offload: Offload,
  raw: Uint8Array,
  { bodyStart }: Pick<MailHead, 'bodyStart'>,
  uncounted: readonly string[],
): Promise<MailBody | MailRefusal> {
  const readBodyThreadInput = () => {
    const copy = copyBytes(raw)
    return { value: { raw: copy, bodyStart, uncounted }, transfer: [copy.buffer] }
  }
  try {
    const call = { module: threadModuleUrl(), name: 'readMailBody', input: readBodyThreadInput, bytes: raw.length }
    return (await offload(call)) as MailBody | MailRefusal
  } catch (error) {
    if (error instanceof OffloadError) return offloadErrorToRefusal(error)
    throw error
  }
}

export function createOffloadedPartFinder(offload: Offload): FindPart {
  return async (raw, index, uncounted) => {
    const findPartThreadInput = () => {
      const copy = copyBytes(raw)
      return { value: { raw: copy, index, uncounted }, transfer: [copy.buffer] }
    }
    const call = { module: threadModuleUrl(), name: 'findMailPart', input: findPartThreadInput, bytes: raw.length }
    return (await offload(call)) as FoundPart | undefined
  }
}

/** Never by `slice`: of a Buffer that is no copy, and what is given to a thread is gone here. */
const copyBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)
