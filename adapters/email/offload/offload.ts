// The parts of hop 2 whose work grows with what strangers send, handed to the runtime's threads.
import { type Offload, OffloadError } from '../../../src/contract/index.ts'
import type { Resolve } from '../dns/resolver.ts'
import type { Checks } from '../prove/checks.ts'
import { createLibrary, type Library } from '../prove/library.ts'
import { type KnownAnswer, playRounds, type Round } from '../prove/rounds.ts'
import type { MailBody, MailHead, MailRefusal } from '../wire/judged.ts'
import { offloadRefusal } from './refusal.ts'

/** Beside this file; in the built package beside the bundle, under the name that scripts/build.js gives it. */
const module = (): URL =>
  new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './email-thread.js', import.meta.url)

export function offloadLibrary(offload: Offload): Library {
  const check =
    <Question, Answer>(name: keyof Checks, bytesOf: (question: Question) => number) =>
    (question: Question, resolve: Resolve): Promise<Answer> =>
      playRounds(resolve, async (known: readonly KnownAnswer[]) => {
        const input = () => ({ value: { question, known } })
        return (await offload({ module: module(), name, input, bytes: bytesOf(question) })) as Round<Answer>
      })
  const few = (): number => 0
  return createLibrary(
    {
      checkHead: check('checkHead', ({ head }) => head.length),
      checkArc: check('checkArc', ({ head }) => head.length),
      checkSpf: check('checkSpf', few),
      checkDmarc: check('checkDmarc', few),
    },
    async (raw, bodyStart, forms) => {
      const input = () => {
        const body = copyOf(raw.subarray(bodyStart))
        return { value: { body, forms }, transfer: [body.buffer] }
      }
      const bytes = raw.length - bodyStart
      return (await offload({ module: module(), name: 'hashMailBody', input, bytes })) as readonly string[]
    },
  )
}

export async function offloadReadBody(
  offload: Offload,
  raw: Uint8Array,
  { bodyStart }: Pick<MailHead, 'bodyStart'>,
): Promise<MailBody | MailRefusal> {
  const input = () => {
    const copy = copyOf(raw)
    return { value: { raw: copy, bodyStart }, transfer: [copy.buffer] }
  }
  try {
    const call = { module: module(), name: 'readMailBody', input, bytes: raw.length }
    return (await offload(call)) as MailBody | MailRefusal
  } catch (error) {
    if (error instanceof OffloadError) return offloadRefusal(error)
    throw error
  }
}

/** Never by `slice`: of a Buffer that is no copy, and what is given to a thread is gone here. */
const copyOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes)
