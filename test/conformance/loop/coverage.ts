// Every case of the loop and where it stands: run as it is
// written, run with the outcome we chose instead and why, or left out with its reason. coverage.test.ts holds it to this.

export type Coverage =
  | { readonly kind: 'covered'; readonly id: string; readonly file: string }
  /** `why`: the reason, as the rows themselves give it. `instead`: what we do. */
  | {
      readonly kind: 'differs'
      readonly id: string
      readonly file: string
      readonly why: string
      readonly instead: string
    }
  | { readonly kind: 'left out'; readonly id: string; readonly reason: string }

/** How many cases each table has. */
export const tables = { M: 18, R: 11, L: 54, T: 25, P: 18, S: 10, HI: 15 } as const

export const coverage: readonly Coverage[] = [
  ...covered('message-cases.ts', 'M-01 M-02 M-03 M-04 M-05 M-06 M-07 M-08 M-09 M-10 M-11 M-12 M-13 M-14 M-15 M-16'),
  ...covered('message-cases.ts', 'M-17 M-18'),
  ...covered('request-cases.ts', 'R-01 R-02 R-03 R-04'),
  ...covered('result-cases.ts', 'R-05 R-06 R-07 R-08 R-09 R-11 L-54'),
  ...covered('run-cases.ts', 'R-10 L-01 L-11 L-13 L-14 L-15 L-16 L-18 L-19 L-20 L-51'),
  ...covered('budget-cases.ts', 'L-02 L-04 L-05 L-06 L-07 L-08 L-10'),
  ...covered('mediation-cases.ts', 'L-21 L-22 L-23 L-24 L-25 L-27 L-28 L-35 P-14'),
  ...covered('completion-cases.ts', 'L-30 L-31 L-32 L-33 L-43 L-44 L-45'),
  ...covered('tool-guard-cases.ts', 'L-36'),
  ...covered('compaction-cases.ts', 'L-37 L-38 L-39 L-40 L-41 L-42'),
  ...covered('provider-cases.ts', 'L-46 L-47'),
  ...covered('tool-declaration-cases.ts', 'T-02 T-04 T-05 T-06 T-07 T-08 T-09 T-10 T-11 T-12 T-13 T-14'),
  ...covered('tool-execution-cases.ts', 'T-16 T-18 T-19 T-20 T-21 T-23 T-24'),
  ...covered('policy-cases.ts', 'P-01 P-02 P-03 P-04 P-05 P-06 P-08 P-09 P-18'),
  ...covered('approval-cases.ts', 'P-11 P-12'),
  ...covered('waiting-cases.ts', 'L-50 P-17'),
  ...covered('session-cases.ts', 'S-02 S-03 S-04 S-07 S-10'),
  ...covered('history-cases.ts', 'HI-01 HI-02 HI-03 HI-04 HI-05 HI-06 HI-07 HI-08 HI-09 HI-10 HI-11 HI-12 HI-13 HI-14'),
  ...covered('history-cases.ts', 'HI-15'),

  differs(
    'L-03',
    'budget-cases.ts',
    'agents-api reports the turn limit as a success',
    'a run that used up its turns is budget_exceeded, not complete',
  ),
  differs(
    'L-09',
    'budget-cases.ts',
    'agents-api reports the turn limit as a success',
    'turns lowered by the agent end in budget_exceeded as well',
  ),
  differs(
    'L-12',
    'run-cases.ts',
    'in agents-api the error propagates and the run stays running',
    'a model that answers nonsense fails its run; nothing is thrown',
  ),
  differs(
    'L-17',
    'session-cases.ts',
    'lanes have a lease and an epoch instead of a lock',
    'the lane’s lease and epoch stand for the transcript lock',
  ),
  differs(
    'L-26',
    'mediation-cases.ts',
    'agents-api drops text without calls and reads calls out of text',
    'the text of a turn without calls is kept',
  ),
  differs(
    'L-29',
    'mediation-cases.ts',
    'agents-api keeps a placeholder that holds raw parameters',
    'no placeholder result; the request shows no secrets',
  ),
  differs(
    'L-34',
    'completion-cases.ts',
    'in agents-api the assistant says the note, and a success does not reset it',
    'the note is the user’s and hidden; a success starts the count anew',
  ),
  differs(
    'L-48',
    'provider-cases.ts',
    'in agents-api the error propagates and the run stays running',
    'an answer without a parsed value fails the run',
  ),
  differs(
    'L-52',
    'run-control-cases.ts',
    'lanes are the queue, and each message is admitted on its own',
    'messages wait in their lane, in order, and only their owner steers with them',
  ),
  differs(
    'L-53',
    'run-control-cases.ts',
    'a message without a run is no error: it gets one',
    'a run nobody knows cannot be stopped or looked at',
  ),
  differs(
    'L-49',
    'provider-cases.ts',
    'outages of a provider are retried by time, not by count',
    'a provider that stays away makes the turn wait by time',
  ),
  differs(
    'T-01',
    'tool-declaration-cases.ts',
    'defaults are supplied only where a request is ingested',
    'what is absent is supplied only in a request',
  ),
  differs(
    'T-03',
    'tool-declaration-cases.ts',
    'a tool name needs a namespace',
    'a name without a namespace is rejected and reported',
  ),
  differs(
    'T-15',
    'tool-declaration-cases.ts',
    'agents-api executes the literal [redacted]',
    'a redacted default counts as missing',
  ),
  differs(
    'T-17',
    'tool-execution-cases.ts',
    'agents-api keeps the provider’s spelling',
    'everything speaks of the canonical name',
  ),
  differs(
    'T-22',
    'tool-execution-cases.ts',
    'what is hidden is reported, not dropped in silence',
    'what another source hides is reported',
  ),
  differs(
    'T-25',
    'tool-execution-cases.ts',
    'the mediator of agents-api fails open',
    'a mediator that fails refuses the call',
  ),
  differs('P-07', 'policy-cases.ts', 'in agents-api a caller’s policy can widen', 'input from outside only narrows'),
  differs(
    'P-10',
    'policy-cases.ts',
    'action policies do not remember approvals',
    'no approval is remembered for the next call',
  ),
  differs(
    'P-13',
    'approval-cases.ts',
    'agents-api keeps a placeholder that holds raw parameters',
    'the envelope shows the input without its secrets',
  ),
  differs(
    'P-15',
    'mediation-cases.ts',
    'agents-api leaves the call unpaired and cannot go on',
    'the envelope carries the id of its call, so that the run can go on',
  ),
  differs('S-01', 'session-cases.ts', 'agents-api overwrites the transcript', 'a transcript only grows'),
  differs(
    'S-05',
    'session-cases.ts',
    'routes are scoped to the owner of the token',
    'another workspace is not found instead of forbidden',
  ),
  differs(
    'S-06',
    'session-cases.ts',
    'routes are scoped to the owner of the token',
    'owners are authenticated subjects; a session without one is the operator’s',
  ),
  differs(
    'P-16',
    'waiting-cases.ts',
    'routes are scoped to the owner of the token',
    'there is always a store, and who resolves says the token',
  ),
  differs(
    'S-08',
    'session-cases.ts',
    'lanes have a lease and an epoch instead of a lock',
    'lanes with lease and epoch stand for the lock',
  ),
  differs(
    'S-09',
    'session-cases.ts',
    'idempotency of agents-api is not atomic',
    'double submits are settled by the dedupe key',
  ),
]

function covered(file: string, ids: string): readonly Coverage[] {
  return ids.split(' ').map((id) => ({ kind: 'covered', id, file }))
}

function differs(id: string, file: string, why: string, instead: string): Coverage {
  return { kind: 'differs', id, file, why, instead }
}
