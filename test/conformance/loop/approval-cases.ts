// A decision, and the value of an action that waits for one.
import { readDecision, readPendingAction, toApprovalEnvelope } from '../../../src/agents/approvals/pending-action.ts'
import { type Case, refusal } from '../conform.ts'

const minimal = {
  action_id: ' a1 ',
  kind: 'publish',
  summary: 'Publish the draft',
  preview: null,
  apply_input: { post: 7, api_key: 'canary' },
  created_at: '2026-01-01T00:00:00Z',
}
const resolved = { ...minimal, resolved_at: '2026-01-01T00:01:00Z', resolver: 'user:7' }
const without = (key: string) => Object.fromEntries(Object.entries(minimal).filter(([name]) => name !== key))
const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic

const faults: readonly (readonly [string, unknown, string])[] = [
  ['no map', 'publish', 'action must be a map'],
  ['no preview', without('preview'), 'preview is required'],
  ['no input', without('apply_input'), 'apply_input is required'],
  ['no summary', without('summary'), 'summary must be a non-empty string'],
  ['a blank id', { ...minimal, action_id: '  ' }, 'action_id must be a non-empty string'],
  ['a blank creator', { ...minimal, creator: '' }, 'creator must be a non-empty string'],
  [
    'an unknown status',
    { ...resolved, status: 'done' },
    'status must be one of pending, accepted, rejected, expired, deleted',
  ],
  [
    'no time of its decision',
    { ...minimal, status: 'accepted', resolver: 'user:7' },
    'resolved_at is required when the status is accepted',
  ],
  [
    'nobody who decided',
    { ...resolved, resolver: null, status: 'rejected' },
    'resolver is required when the status is rejected',
  ],
  ['a function as input', { ...minimal, apply_input: () => 1 }, 'apply_input must be JSON serializable'],
  ['a circle as preview', { ...minimal, preview: cyclic }, 'preview must be JSON serializable'],
  ['a text as metadata', { ...minimal, metadata: 'x' }, 'metadata must be a map'],
  [
    'a workspace without id',
    { ...minimal, workspace: { workspace_type: 'team', workspace_id: ' ' } },
    'workspace invalid_workspace_scope: workspace_id must be a non-empty string',
  ],
]

export const approvalCases: readonly Case[] = [
  {
    id: 'P-11',
    claim: 'a minimal action is completed with every default',
    run: () => readPendingAction(minimal),
    equals: {
      ...minimal,
      action_id: 'a1',
      workspace: null,
      agent: null,
      creator: null,
      expires_at: null,
      status: 'pending',
      resolved_at: null,
      resolver: null,
      resolution_result: null,
      resolution_error: null,
      resolution_metadata: {},
      metadata: {},
    },
  },
  {
    id: 'P-11',
    claim: 'a whole action is kept, its workspace canonical',
    run: () =>
      readPendingAction({
        ...resolved,
        status: 'accepted',
        workspace: { workspace_type: 'Slack_Team', workspace_id: ' T1 ' },
        resolution_result: { ok: true },
        resolution_metadata: [],
      }),
    expected: {
      status: 'accepted',
      resolver: 'user:7',
      workspace: { workspace_type: 'slack_team', workspace_id: 'T1' },
      resolution_result: { ok: true },
      resolution_metadata: {},
    },
  },
  {
    id: 'P-11',
    claim: 'an expiry needs a time and nobody who decided',
    run: () => readPendingAction({ ...resolved, status: 'expired', resolver: null }).status,
    equals: 'expired',
  },
  ...faults.map(([what, input, reason]) => ({
    id: 'P-12',
    claim: `an action with ${what} is refused with the field's name`,
    run: () => refusal(() => readPendingAction(input)),
    equals: `invalid_ai_pending_action: ${reason}`,
  })),
  {
    id: 'P-12',
    claim: 'a decision is one of two words, and the refusal names both',
    run: async () => [
      readDecision('accepted'),
      readDecision('rejected'),
      await refusal(() => readDecision('approve')),
      await refusal(() => readDecision(' accepted ')),
    ],
    equals: [
      'accepted',
      'rejected',
      'agents_pending_action_invalid_decision: decision must be accepted or rejected',
      'agents_pending_action_invalid_decision: decision must be accepted or rejected',
    ],
  },
  {
    id: 'P-13',
    claim: 'a blank instruction is left out, of the grants the maps stay, and the action itself does not change',
    run: () => {
      const action = readPendingAction(minimal)
      const before = structuredClone(action)
      const { type, role, content, payload } = toApprovalEnvelope(action, {
        instruction: '  ',
        grants: [{ scope: 'once' }, 'all', null, ['x']],
      })
      const isUnchanged = JSON.stringify(action) === JSON.stringify(before)
      return { type, role, content, isUnchanged, grants: payload['grants'], keys: Object.keys(payload) }
    },
    expected: {
      type: 'approval_required',
      role: 'tool',
      content: 'Publish the draft',
      isUnchanged: true,
      grants: [{ scope: 'once' }],
      keys: [...Object.keys(readPendingAction(minimal)), 'grants'],
    },
  },
  {
    id: 'P-13',
    claim: 'an instruction is trimmed and kept',
    run: () => toApprovalEnvelope(readPendingAction(minimal), { instruction: ' Look first. ' }).payload['instruction'],
    equals: 'Look first.',
  },
  {
    id: 'P-13',
    claim: 'the envelope shows the input without its secrets, or what the caller says may be seen',
    differs: 'agents-api keeps a placeholder that holds raw parameters',
    run: () => {
      const action = readPendingAction(minimal)
      const { payload } = toApprovalEnvelope(action)
      return [payload['apply_input'], toApprovalEnvelope(action, { shownInput: 'hidden' }).payload['apply_input']]
    },
    equals: [{ api_key: '[redacted]', post: 7 }, 'hidden'],
  },
]
