// Tools that the client runs: asked for, answered once. The statement that answers also wakes the paused run.
import { statement } from '../database.ts'
import { auditedAct } from './audit-lines.ts'
import { isoTime } from './iso-time.ts'
import { resumeSignal } from './resume-signal.ts'

/** As it may be shown: `parameters` and `resume` stay here. */
const line = `q.id, q.request_id, q.status, q.tool as tool_name, q.tool_call_id, q.request, q.agent, q.owner, q.run_id, q.session_id,
  q.conversation_id, ${isoTime('q.created_at')} as created_at, ${isoTime('q.expires_at')} as timeout_at,
  ${isoTime('q.resolved_at')} as resolved_at, q.resolver, q.status = 'runtime_tool_timeout' and q.resolver is not null as cancelled,
  q.result`

/** $1 tenant, $2 owner or null, $3 conversation or null. */
const scope = 'q.tenant = $1 and ($2::text is null or q.owner = $2) and ($3::uuid is null or q.conversation_id = $3)'

/** $4 id or request id. */
const named = '(q.request_id = $4 or q.id::text = $4)'

export const getToolRequest = statement(
  'get_tool_request',
  `select ${line}, q.parameters from runtime_tool_requests q where ${scope} and ${named} limit 1`,
)

/** $4 status or null, $5 how many, $6 before which. */
export const listToolRequests = statement(
  'list_tool_requests',
  `
select ${line} from runtime_tool_requests q
where ${scope} and ($4::text is null or q.status = $4) and ($6::uuid is null or q.id < $6)
order by q.id desc limit $5`,
)

/** $4 call. Call ids may repeat from run to run: the newest that waits is meant. */
export const findToolRequest = statement(
  'find_tool_request',
  `
select ${line} from runtime_tool_requests q where ${scope} and q.tool_call_id = $4
order by q.status = 'runtime_tool_pending' desc, q.id desc limit 1`,
)

/** $4 id or request id, $5 status, $6 result, $7 resolver, $8 whether to NOTIFY, $9 false: the turn that answers goes on itself. */
export const answerToolRequest = statement(
  'answer_tool_request',
  `
with answered as (
  update runtime_tool_requests q set status = $5, result = $6::text::jsonb, resolver = $7, resolved_at = now()
  where ${scope} and ${named} and q.status = 'runtime_tool_pending' and (q.expires_at is null or q.expires_at > now())
  returning q.*
),${resumeSignal({ from: 'answered', kind: 'runtime_tool', name: '$5', owner: 'owner', notify: '$8', where: '$9::boolean' })},${auditedAct(
    {
      from: 'answered',
      by: '$7',
      about: 'd.owner',
      columns: {
        action: "'tool_request.answer'",
        outcome: "case when d.status = 'runtime_tool_completed' then 'answered' else 'cancelled' end",
        connection: '(select c.connection from conversations c where c.id = d.conversation_id)',
        agent: 'd.agent',
        conversation_id: 'd.conversation_id',
        object_id: 'd.id::text',
        detail: "jsonb_build_object('tool', d.tool)",
      },
    },
  )}
select ${line} from answered q cross join woken`,
)

/** $1 tenant, $2 id. */
export const loadToolRequest = statement(
  'load_tool_request',
  `
select q.id, q.status, q.status = 'runtime_tool_timeout' and q.resolver is not null as "isCancelled", q.result,
  q.session_id as "sessionId", q.resume
from runtime_tool_requests q where q.tenant = $1 and q.id = $2`,
)
