// /consent: what a person agreed to, and how they change it. Stored under who they are; what they said last counts.
import { type ConsentOperation, consentOperations } from '../../identity/consent/consent.ts'
import { createConsentContext } from '../keeping.ts'
import type { ChatCommandContext } from './command.ts'

/** What people write for each; its own name is understood as well. */
export const consentKeywords: Readonly<Record<ConsentOperation, string>> = {
  store_memory: 'remember',
  use_memory: 'recall',
  store_transcript: 'keep',
  share_transcript: 'share',
  escalate_to_human: 'handover',
}

const meanings: Readonly<Record<ConsentOperation, string>> = {
  store_memory: 'remember things about you from one session to the next',
  use_memory: 'use what is remembered about you',
  store_transcript: 'keep what was said after a session has ended',
  share_transcript: 'give a copy of what was said to another person',
  escalate_to_human: 'let a person take over this conversation',
}

export async function answerConsent(scene: ChatCommandContext): Promise<string> {
  const { deps, command, principal, at, agent, turn } = scene
  if (at.adapter.capabilities.isInteractive !== true || principal === '')
    return 'Consent is given by a person in a chat. No person can be asked on this connection, so nothing is agreed to here.'
  const [verb = '', operation = ''] = command.args.trim().toLowerCase().split(/\s+/)
  if (verb === '') return consentListNotice(scene)
  const isAllowed = { allow: true, withdraw: false }[verb]
  const known = consentOperations.find((each) => each === operation || consentKeywords[each] === operation)
  if (isAllowed === undefined || known === undefined) return consentUsageNotice(scene)
  const word = { id: turn.id, operation: known, isAllowed, principal, connection: at.key, agent }
  await deps.consents.recordWord(word)
  return `${isAllowed ? 'Agreed' : 'Taken back'}: ${meanings[known]}.${consequence(known, isAllowed, scene)}`
}

function consequence(operation: ConsentOperation, isAllowed: boolean, { at, write }: ChatCommandContext): string {
  if (operation !== 'store_transcript')
    return isAllowed ? ` ${write('consent', `withdraw ${consentKeywords[operation]}`)} takes it back.` : ''
  if (at.transcriptBasis !== undefined)
    return ` It is kept here all the same; the operator says why: ${at.transcriptBasis}`
  return isAllowed
    ? ` It counts from your next session on; ${write('new')} starts one.`
    : ' What was kept because you had agreed is erased, this session when it ends.'
}

async function consentListNotice(scene: ChatCommandContext): Promise<string> {
  const { deps, principal, at, agent } = scene
  const asked = { ...createConsentContext(at, agent), consent: await deps.consents.given(principal) }
  const lines = consentOperations.map((operation) => {
    const { allowed, reason } = deps.consent(operation, asked)
    const why = reason === 'operator_grant' ? ` (the operator says why: ${at.transcriptBasis ?? ''})` : ''
    return `${consentKeywords[operation]}: ${allowed ? 'yes' : 'no'} - ${meanings[operation]}${why}`
  })
  return ['What I may do with what you say:', ...lines, '', consentUsageNotice(scene)].join('\n')
}

function consentUsageNotice({ write }: ChatCommandContext): string {
  const example = [write('consent', 'allow share'), write('consent', 'withdraw share')]
  return `Change it with ${example.join(' or ')}; ${write('consent')} shows the list.`
}
