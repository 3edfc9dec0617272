// Telegram ingress cases that this channel and the core decide together: answers to Telegram, copies, words of decisions.

import { resolutionSentenceAndDecision } from '../../../src/agents/approvals/approval-messages.ts'
import { errorCodeAnswer, webhookAnswer } from '../../../src/api/http-answers.ts'
import { dedupeKey } from '../../../src/inbound/accept.ts'
import type { ErrorCode } from '../../../src/lib/errors.ts'
import { createAdapterFromFixtures } from '../../../src/testing/adapter-fixtures.ts'
import { fixtures } from '../../fixtures/telegram/index.ts'
import type { Case } from '../conform.ts'
import { arrivals, calls, kit, parts, saying } from './telegram-setup.ts'

const failures: readonly ErrorCode[] = [
  ...(['storage_unavailable', 'storage_overloaded', 'stopping', 'schema_missing', 'schema_too_new'] as const),
  ...(['storage_refused_row', 'config_invalid', 'lease_lost'] as const),
]

const line = {
  action_id: 'x',
  summary: 'delete it',
  status: 'accepted',
  agent: 'demo',
  resolvers: 'other',
  hash: 'h',
  resolution_metadata: {},
}
type Resolution = Parameters<typeof resolutionSentenceAndDecision>[0]
/** The words are what is looked at; of the action only what they say of it is here. */
const words = (resolution: object) => resolutionSentenceAndDecision(resolution as Resolution)
const refused = (reason: string) => words({ kind: 'refused', reason, action: line })
const removesButtons = ({ says, decision }: ReturnType<typeof words>): boolean =>
  calls(
    { ...parts(saying(says)), control: { about: 'approve', decision } },
    { chat_id: '5', reply_to_click: { id: 'q', message_id: '7' } },
  ).some((call) => call['method'] === 'editMessageReplyMarkup')

export const ingressCases: readonly Case[] = [
  {
    id: 'T13',
    claim: 'a webhook is never answered 410 or sent elsewhere, whatever happens',
    run: () => {
      const rejected = (['missing_credential', 'wrong_credential', 'malformed_request'] as const).map((reason) =>
        webhookAnswer({ kind: 'rejected', reason, trace: '' }),
      )
      const stored = webhookAnswer({ kind: 'stored', acceptances: [] })
      const unreadable = webhookAnswer({ kind: 'unreadable', reason: 'invalid_json', acceptances: [] })
      const failed = failures.map((code) => errorCodeAnswer(code, ''))
      return [...rejected, stored, unreadable, ...failed]
        .map(({ status }) => status)
        .filter((status) => status === 410 || (status >= 300 && status < 400))
    },
    equals: [],
  },
  {
    id: 'X01',
    claim: 'every captured update has the same key when it comes again, and no two have one',
    run: async () => {
      const keys = async () =>
        (await Promise.all(fixtures.captured.map(({ payload }) => arrivals(payload))))
          .flat()
          .flatMap((each) => (each.kind === 'message' ? [dedupeKey(each)] : []))
      const [once, again] = [await keys(), await keys()]
      return [JSON.stringify(once) === JSON.stringify(again), new Set(once).size === once.length, once.length > 5]
    },
    equals: [true, true, true],
  },
  {
    id: 'X07',
    claim: 'without live messages, files and buttons a plain text is one plain call',
    run: () => createAdapterFromFixtures(kit).render(parts(saying('hello')), { chat_id: '5' }),
    equals: [
      {
        call: {
          method: 'sendMessage',
          payload: { chat_id: 5, text: 'hello', link_preview_options: { is_disabled: true } },
        },
        primary: true,
      },
    ],
  },
  {
    id: 'T71e',
    claim: 'the gateway’s own words of a decision take the buttons off, those of a denial do not',
    run: () => ({
      accepted: removesButtons(words({ kind: 'resolved', action: line })),
      rejected: removesButtons(words({ kind: 'resolved', action: { ...line, status: 'rejected' } })),
      already: removesButtons(refused('already_resolved')),
      expired: removesButtons(refused('expired')),
      changed: removesButtons(refused('changed')),
      notAllowed: removesButtons(refused('not_allowed')),
      notFound: removesButtons(refused('not_found')),
    }),
    equals: {
      accepted: true,
      rejected: true,
      already: true,
      expired: true,
      changed: true,
      notAllowed: false,
      notFound: false,
    },
  },
]
