// /consent: what a person agreed to, and how they change it. Stored under who they are; what they said last counts.
import { type ConsentOperation, consentOperations } from '../../identity/consent/consent.ts'
import { consentScene } from '../keeping.ts'
import type { CommandScene } from './command.ts'

const meanings: Readonly<Record<ConsentOperation, string>> = {
  store_memory: 'remember things about you from one session to the next',
  use_memory: 'use what is remembered about you',
  store_transcript: 'keep what was said after a session has ended',
  share_transcript: 'give a copy of what was said to somebody else',
  escalate_to_human: 'let a person take over this conversation',
}

export async function answerConsent(scene: CommandScene): Promise<string> {
  const { deps, command, principal, at, agent, turn } = scene
  if (at.adapter.capabilities.isInteractive !== true || principal === '')
    return 'Consent is given by a person in a chat. Nobody can be asked on this connection, so nothing is agreed to here.'
  const [verb = '', operation = ''] = command.args.trim().toLowerCase().split(/\s+/)
  if (verb === '') return listWords(scene)
  const isAllowed = { allow: true, withdraw: false }[verb]
  const known = consentOperations.find((each) => each === operation)
  if (isAllowed === undefined || known === undefined) return usageWords()
  const word = { id: turn.id, operation: known, isAllowed, principal, connection: at.key, agent }
  await deps.consents.recordWord(word)
  return `${isAllowed ? 'Agreed' : 'Taken back'}: ${meanings[known]}.${consequence(known, isAllowed, scene)}`
}

function consequence(operation: ConsentOperation, isAllowed: boolean, { at }: CommandScene): string {
  if (operation !== 'store_transcript') return isAllowed ? ` /consent withdraw ${operation} takes it back.` : ''
  if (at.transcriptBasis !== undefined)
    return ` It is kept here all the same; the operator says why: ${at.transcriptBasis}`
  return isAllowed
    ? ' It counts from your next session on; /new starts one.'
    : ' What was kept because you had agreed is erased, this session when it ends.'
}

async function listWords({ deps, principal, at, agent }: CommandScene): Promise<string> {
  const scene = { ...consentScene(at, agent), consent: await deps.consents.given(principal) }
  const lines = consentOperations.map((operation) => {
    const { allowed, reason } = deps.consent(operation, scene)
    const why = reason === 'operator_grant' ? ` (the operator says why: ${at.transcriptBasis ?? ''})` : ''
    return `${allowed ? 'yes' : 'no'} - ${operation}: ${meanings[operation]}${why}`
  })
  return ['What I may do with what you say:', ...lines, '', usageWords()].join('\n')
}

function usageWords(): string {
  return 'Change it with /consent allow share_transcript or /consent withdraw share_transcript; /consent shows the list.'
}
