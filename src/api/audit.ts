// The audit log, who decided what and why; what was rejected lately; weak settings. There is no operation that changes a line.

import * as z from 'zod'
import type { AuditEntry } from '../db/audit.ts'
import { readAuditPage } from '../db/audit.ts'
import { GatewayError } from '../lib/errors.ts'
import { type FindingId, findingIds } from './audit-config/finding.ts'
import type { ResourceCommands } from './command.ts'
import { rejectionSchema } from './explain/schema.ts'
import {
  defineOperation,
  defineResource,
  idPattern,
  instantSchema,
  jsonObjectSchema,
  nextSeq,
  seqPageQuery,
  wholeNumberSchema,
} from './resource.ts'

const name = z.string().nullable()

const entrySchema = z
  .object({
    seq: z.number().int().meta({ description: 'Its place in the log' }),
    at: instantSchema,
    action: z.string(),
    outcome: z.string(),
    code: name,
    rule: name,
    person: name.meta({ description: 'A subject, forgotten, or null where no sender was verified' }),
    actor: name,
    evidence: jsonObjectSchema.nullable(),
    connection: name,
    agent: name,
    conversationId: name,
    inboxId: name,
    objectId: name,
    traceId: name,
    detail: jsonObjectSchema.nullable(),
  })
  .meta({ id: 'AuditEntry', description: 'A decision, and what it was based on' })

const findingSchema = z
  .object({
    id: z.enum(Object.keys(findingIds) as FindingId[]),
    severity: z.enum(['critical', 'warning', 'info']),
    where: z.string(),
    weak: z.string(),
    remedy: z.string(),
  })
  .meta({ id: 'Finding', description: 'A weak setting, and what to do about it' })

const instantQuery = z
  .string()
  .transform((text, issues) => {
    const at = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN
    if (!Number.isNaN(at)) return new Date(at).toISOString()
    issues.addIssue('must be a time such as 2026-01-31 or 2026-01-31T08:00:00Z')
    return z.NEVER
  })
  .optional()

const optionalTextFilterSchema = (what: string) => z.string().optional().meta({ description: what })

export const audit = defineResource({
  name: 'audit',
  tag: 'Operator: audit',
  audience: 'operator',
  operations: {
    list: defineOperation({
      method: 'get',
      path: '/admin/audit',
      id: 'readAuditLog',
      summary: 'Who decided what, on which ground',
      scopes: ['admin', 'read'],
      query: seqPageQuery.extend({
        // Zero is before the first line.
        after: wholeNumberSchema(0, Number.MAX_SAFE_INTEGER)
          .optional()
          .meta({ description: 'Behind this line, oldest first' }),
        principal: optionalTextFilterSchema('Only about, or by, this subject'),
        agent: optionalTextFilterSchema('Only about this agent'),
        actor: optionalTextFilterSchema('Only by this operator, as the list names them'),
        action: optionalTextFilterSchema('Only this, or all of a kind: message, approval.resolve, …'),
        outcome: optionalTextFilterSchema('Only with this outcome: admitted, refused, done, …'),
        code: optionalTextFilterSchema('Only with this reason'),
        inbox: z
          .string()
          .regex(idPattern, 'must be the id of a message, a UUID as the lists show it')
          .optional()
          .meta({ description: 'Only about this message' }),
        since: instantQuery.meta({ description: 'Not before' }),
        until: instantQuery.meta({ description: 'Only before' }),
      }),
      returns: 'A page of the log',
      output: z.object({ lines: z.array(entrySchema), next: nextSeq }),
      async handle({ deps, query: { limit, before, after, principal, inbox, ...filter } }) {
        if (before !== undefined && after !== undefined)
          throw new GatewayError(
            'bad_request',
            'before and after: give one of them, the log is read in one direction at a time',
          )
        return readAuditPage(deps.db, { ...filter, subject: principal, inboxId: inbox }, { limit, before, after })
      },
    }),
    config: defineOperation({
      method: 'get',
      path: '/admin/audit/config',
      id: 'auditConfig',
      summary: 'Weak settings of this gateway',
      output: z.object({ findings: z.array(findingSchema) }),
      problems: [404],
      async handle({ deps }) {
        if (deps.findWeakSettings === undefined)
          throw new GatewayError('not_found', 'settings are checked where they are kept: parley audit config --files')
        return { findings: await deps.findWeakSettings() }
      },
    }),
    // What this process rejected lately, and why. Counts of all of it are in the metrics.
    rejected: defineOperation({
      method: 'get',
      path: '/admin/rejected',
      id: 'listRejected',
      summary: 'What this process turned away lately',
      scopes: ['admin', 'read'],
      tag: 'Operator: messages',
      query: seqPageQuery
        .omit({ before: true })
        .extend({ trace: optionalTextFilterSchema('Only the one that was answered with this trace') }),
      output: z.object({ rejected: z.array(rejectionSchema) }),
      handle: ({ deps, query: { limit, connection, trace } }) => ({
        rejected: deps.rejections.list({ limit, connection, trace }),
      }),
    }),
  },
})

const time = '2026-01-31, 2026-01-31T08:00:00Z, or 45m, 12h, 30d, 8w ago'

const auditFlags = {
  connection: { valueHint: 'channel/id' },
  principal: { valueHint: 'subject' },
  agent: { valueHint: 'slug' },
  actor: { valueHint: 'name' },
  action: { valueHint: 'action' },
  outcome: { valueHint: 'outcome' },
  code: { valueHint: 'code' },
  inbox: { valueHint: 'id' },
  since: { as: 'time', valueHint: 'time', description: `Not before: ${time}` },
  until: { as: 'time', valueHint: 'time', description: 'Only before, written like --since' },
  after: false,
} as const

export const auditCommands = () =>
  ({
    description:
      'Who decided what, on which ground; what was turned away; which settings are weak. Alone it lists decisions.',
    examples: ['parley audit --outcome refused', 'parley audit config'],
    fallback: 'list',
    commands: {
      list: {
        name: 'list',
        description: 'List decisions, newest first: when, who, what, outcome, rule, evidence.',
        examples: [
          'parley audit --outcome refused --since 24h',
          'parley audit --principal space:T1/U42 --json',
          'parley audit --action approval --follow',
        ],
        flags: auditFlags,
        rows: 'lines',
        columns: {
          SEQ: 'seq',
          TIME: 'at',
          WHO: ({ actor, person }) => actor ?? person,
          ABOUT: ({ actor, person }) => (actor === null ? null : person),
          WHAT: 'action',
          OUTCOME: ({ code, outcome }) => (code === null ? outcome : `${outcome} (${code})`),
          RULE: 'rule',
          EVIDENCE: evidenceText,
          WHERE: 'connection',
          ID: ({ objectId, inboxId }) => objectId ?? inboxId,
        },
        empty: 'Nothing was decided that fits.',
      },
      rejected: {
        name: 'rejected',
        description:
          'List what the gateway process turned away lately: bad signatures, wrong secrets, tokens that are not valid.',
        examples: ['parley audit rejected', 'parley audit rejected --connection space/main --json'],
        flags: { connection: { valueHint: 'channel/id' }, trace: { valueHint: 'trace' } },
        rows: 'rejected',
        columns: {
          TIME: 'at',
          TRACE: 'trace',
          CONNECTION: 'connection',
          REASON: 'reason',
          FROM: ({ isLocal }) => (isLocal ? 'this machine' : 'elsewhere'),
          BYTES: 'bytes',
        },
        empty: 'Nothing was turned away since the gateway started. Counts over time are in the metrics.',
      },
    },
  }) as const satisfies ResourceCommands<typeof audit>

function evidenceText({ evidence }: Pick<AuditEntry, 'evidence'>): string | null {
  return evidence === null ? null : `${String(evidence['assurance'])} by ${String(evidence['issuer'])}`
}
