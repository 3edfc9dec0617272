// Reports (Flag) of other servers to the operator: listed, shown with what they are about, and closed. The reporters are not told.
import * as z from 'zod'
import type { Operations } from '../../../src/contract/index.ts'
import { GatewayError, type JsonObject } from '../../../src/lib/index.ts'
import { htmlToText } from '../../../src/markdown/index.ts'
import { type NoteRecord, noteFamily } from '../wire/delivery.ts'
import { peerFamilies } from '../wire/records.ts'
import { type OperateDeps, pageShape, parseOperationInput, shortText } from './operation-input.ts'

const idShape = z.object({ id: shortText })
const listShape = pageShape.extend({ closed: z.boolean().default(false) }).omit({ agent: true })
const maxWords = 500

export function reportOperations(deps: OperateDeps): Operations {
  const { records } = deps
  const findOpenReport = async (id: string) => records.get(peerFamilies.flag, id)
  return {
    async 'reports.list'(input) {
      const { closed, limit, ...page } = parseOperationInput(
        listShape,
        input,
        'give limit from 1 to 100, after as a list ended',
      )
      const found = await records.list(closed ? peerFamilies.closedFlag : peerFamilies.flag, { ...page, limit })
      const reports = found.map(({ key, value, at }) => toReport(deps, key, { at, ...value }))
      return { value: { reports, next: found.length < limit ? null : (found.at(-1)?.key ?? null) } }
    },
    async 'reports.show'(input) {
      const { id } = parseOperationInput(idShape, input, 'give id as the list shows it')
      const value = (await findOpenReport(id)) ?? (await records.get(peerFamilies.closedFlag, id))
      if (value === undefined) throw reportNotFoundError()
      const report = toReport(deps, id, value)
      return {
        value: {
          report: { ...report, posts: await Promise.all(report.posts.map((each) => readReportedPost(deps, each))) },
        },
      }
    },
    async 'reports.close'(input, { at }) {
      const { id } = parseOperationInput(idShape, input, 'give id as the list shows it')
      const value = await findOpenReport(id)
      if (value === undefined) throw reportNotFoundError()
      const mine = typeof value['actor'] === 'string' ? { subject: value['actor'] } : {}
      return {
        value: { id, closedAt: at },
        change: {
          reason: 'report_closed',
          deliveryId: `reports.close ${id} ${String(value['at'] ?? '')}`,
          ...mine,
          recordWrites: [
            { kind: 'remove', family: peerFamilies.flag, key: id },
            { kind: 'put', family: peerFamilies.closedFlag, key: id, value: { ...value, closed_at: at }, ...mine },
          ],
        },
      }
    },
  }
}

type Report = JsonObject & { readonly posts: readonly string[] }

/** What it is about, told apart: agents, what they posted, and what is not ours. */
function toReport({ places, agents }: OperateDeps, id: string, value: JsonObject): Report {
  const { actor, about, complaint, at, closed_at: closedAt } = value
  const named = (Array.isArray(about) ? about : []).map(String)
  const slugs = agents().map(({ slug }) => slug)
  const accused = slugs.filter((slug) =>
    named.some((iri) => iri === places.actor(slug) || iri === places.profile(slug)),
  )
  const posts = named.filter((iri) => slugs.some((slug) => iri.startsWith(places.note(slug, ''))))
  const words = typeof complaint === 'string' ? complaint : ''
  return {
    id,
    reporter: String(actor),
    at: at ?? null,
    closedAt: closedAt ?? null,
    agents: accused,
    posts,
    about: named,
    complaint: words,
  }
}

async function readReportedPost({ records }: OperateDeps, id: string): Promise<JsonObject> {
  // Only this adapter writes this family.
  const record = (await records.get(noteFamily, id)) as NoteRecord | undefined
  const { content, published } = record?.note ?? {}
  return {
    id,
    published: published ?? null,
    words: typeof content === 'string' ? htmlToText(content, { maxLength: maxWords }) : null,
  }
}

function reportNotFoundError(): GatewayError {
  return new GatewayError('not_found', 'no such report, or it is closed; list them with parley activitypub reports')
}
