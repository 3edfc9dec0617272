// DNS questions of a thread, in rounds: a check that lacks an answer ends and says what it needs, and is asked again with it. So
// a thread computes only, and a domain whose servers never answer keeps none of them.
import type { DnsRecord, Resolve } from '../dns.ts'

export type Need = { readonly name: string; readonly type: string }
/** Records, or the code of the error in their place. */
export type KnownAnswer = Need & ({ readonly records: readonly DnsRecord[] } | { readonly code: string })
export type Round<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'needs'; readonly needs: readonly Need[] }

/** Each asks for something new, and a mail may ask for 60 names. */
const maxRounds = 64

/** Where the check is computed: with the answers that are known. */
export async function checkWithKnownAnswers<Value>(
  known: readonly KnownAnswer[],
  check: (resolver: Resolve) => Promise<Value>,
): Promise<Round<Value>> {
  const answers = new Map(known.map((answer) => [dnsQueryKey(answer), answer]))
  const needs = new Map<string, Need>()
  const resolveFromKnownAnswers: Resolve = async (name, type) => {
    const answer = answers.get(dnsQueryKey({ name, type }))
    if (answer !== undefined && 'records' in answer) return answer.records
    if (answer === undefined) needs.set(dnsQueryKey({ name, type }), { name, type })
    throw Object.assign(new Error(name), { code: answer?.code ?? 'EPENDING' })
  }
  // Without an answer a check may also fail; that is no result yet.
  const outcome = await check(resolveFromKnownAnswers).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (needs.size > 0) return { kind: 'needs', needs: [...needs.values()] }
  if ('error' in outcome) throw outcome.error
  return { kind: 'done', value: outcome.value }
}

/** Where waiting costs nothing: rounds until there is a result. `likely`: what the first would ask for anyway. */
export async function checkUntilAnswersKnown<Value>(
  resolve: Resolve,
  play: (known: readonly KnownAnswer[]) => Promise<Round<Value>>,
  likely: readonly Need[] = [],
): Promise<Value> {
  const known: KnownAnswer[] = await Promise.all(likely.map((need) => resolveDnsQuery(resolve, need)))
  for (let round = 0; round < maxRounds; round += 1) {
    const outcome = await play(known)
    if (outcome.kind === 'done') return outcome.value
    known.push(...(await Promise.all(outcome.needs.map((need) => resolveDnsQuery(resolve, need)))))
  }
  throw new Error('a check asks for more names than a mail may')
}

async function resolveDnsQuery(resolve: Resolve, { name, type }: Need): Promise<KnownAnswer> {
  try {
    return { name, type, records: await resolve(name, type) }
  } catch (error) {
    return { name, type, code: error instanceof Error && 'code' in error ? String(error.code) : 'EFAILED' }
  }
}

const dnsQueryKey = ({ name, type }: Need): string => `${type} ${name}`
