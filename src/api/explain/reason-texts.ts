// Reason codes in plain words. What only one channel gives is told by its definition (`reasons`); a code without any text is shown as it is.

/** Of the channel that a message came by. */
export type ChannelReasons = Readonly<Record<string, string>>

const reasonTexts: Readonly<Record<string, string>> = {
  // Verify and normalize: what machines write to machines, and what is rejected.
  report: 'it is a report about something that was sent',
  own_message: 'it is from one of our own agents',
  no_content: 'it says nothing: no text, no file',
  // When a message is accepted.
  too_many_messages:
    'strangers had sent as many messages to this connection as they may at once; nothing of it was kept',
  stale: 'it was older than this channel accepts when it arrived',
  unstorable: 'the database cannot hold what it says; only its receipt is kept',
  empty_message: 'it says nothing: no text, no file',
  effect_invalid: 'what it would have changed cannot be stored, so nothing of it was done',
  redriven: 'it was read again later and has become a message of its own',
  invalid_agent_caller_context: 'a header about the agents that called before cannot be read; nothing was run',
  // Identify and admit: who may speak.
  no_evidence: 'nothing proves who sent it',
  not_on_allow_list: 'the sender is not on the allow list of this connection',
  decision_not_allowed: 'a press on a button by a person who has no access; they were told so',
  not_paired: 'the sender is not paired with this connection, and was told so or not asked',
  pairing_required: 'the sender is not known here yet, and waits to be let in',
  pairings_full: 'as many strangers wait to be let in as may wait at once, of that group or on the connection',
  too_many_held: 'more messages wait for the pairing of this sender than are kept',
  pairing_rejected: 'an operator decided not to let the sender in',
  pairing_expired: 'no operator let the sender in within the time a pairing is kept',
  denied_by_rule: 'a rule of the configuration denies it',
  blocked: 'an operator has blocked the sender',
  principal_unknown: 'the sender is unknown here',
  EV_AUDIENCE: 'what proves the sender was made out for another agent',
  EV_EXPIRED: 'what proves the sender had expired when it came',
  EV_NOT_YET_VALID: 'what proves the sender was not valid yet when it came',
  EV_TIME_MALFORMED: 'what proves the sender has no readable time on it',
  EV_MALFORMED: 'what should prove the sender has not the form of evidence',
  EV_LIMIT: 'what should prove the sender is larger than evidence may be',
  EV_TTL: 'what proves the sender was made out for longer than evidence from outside may live',
  EV_PROOF_NOT_PORTABLE: 'what should prove the sender counts only where it was made, and it was not made here',
  EV_REPLAY: 'what proves the sender was used before, with another message',
  EV_BINDING: 'what proves the sender was made out for another message',
  EV_SIG_INVALID: 'what should prove the sender has a signature that is wrong',
  EV_SIG_UNAVAILABLE: 'the signature of what should prove the sender could not be checked here',
  TR_UNTRUSTED_ISSUER: 'the gateway that vouches for the sender is not trusted here',
  TR_METHOD: 'the gateway that vouches for the sender is not trusted for this way of proving it',
  TR_ASSURANCE: 'the gateway that vouches for the sender is not trusted to be so sure',
  TR_SUBJECT: 'the gateway that vouches for the sender is not trusted to speak of such people',
  EV_PROOF_UNKNOWN: 'what should prove the sender is of a kind that cannot be checked here',
  wrong_agent: 'the token it came with is for another agent',
  'gw:agent_loop': 'agents call each other in a circle: the chain it belongs to has been here before',
  'gw:hop_limit': 'more agents have called one after the other than this gateway allows',
  connection_closed: 'the connection is closed to all senders',
  agent_closed: 'the agent is closed to all senders',
  forgotten: 'its sender was erased; what it said is gone',
  not_addressed: 'it was said in a room and not to the agent, which listens there for its name, replies and commands',
  ambient: 'the agent only listens in that room, and answers nothing there',
  no_decision: 'no access decision was made',
  from_self: 'the gateway itself had sent it',
  withdrawn: 'its author deleted it before the agent had read it',
  withdrew_a_waiting_message: 'it deleted a message that was still waiting, and so has done its work',
  unknown_target: 'it edits or deletes a message that never came here; should that one still come, this counts',
  unchanged: 'it is an edit that changes nothing of what the message says',
  not_the_author: 'only the author of a message can edit or delete it',
  reply_limit: 'more was answered there of late than the connection allows; two machines may be answering each other',
  // The turn.
  silent: 'the agent chose to say nothing',
  agent_failed: 'the agent failed',
  internal: 'the gateway itself failed on it; the log says where (message_failed)',
  reply_invalid: 'the agent returned something that is no reply; it must return text, { parts }, or nothing',
  reply_too_long: 'the agent returned a text longer than can be sent (1 048 576 characters); the log says how long',
  agent_unknown: 'no agent of that name is configured',
  turn_deadline: 'the agent took longer than a turn may take',
  fetch_timeout: 'a server was silent in the middle of a step',
  step_failed: 'a step that had failed before was asked for again',
  tool_outcome_unknown: 'a step was interrupted or failed, and whether it took effect is unknown; it is not run again',
  provider_unavailable: 'something the agent depends on was unavailable',
  render_failed: 'the reply could not be written for this channel',
  interrupted_too_often: 'every process that ran it died',
  interrupted: 'the process that ran it was gone',
  edited: 'a message of it was changed or taken back before it had any effect',
  access_lost: 'its sender lost access between two tries; nothing more was begun',
  erased: 'lines that it was shown were erased between two tries; nothing more was begun',
  storage_unavailable: 'the database did not answer',
  stopping: 'the gateway was shutting down',
  delivery_refused: 'the reply was made, but the platform refused it',
  delivery_dead: 'the reply was made, but could not be delivered in time',
  delivery_unknown: 'the reply was sent, but it is not known whether it arrived',
  // Deliveries.
  rate_limited: 'the platform asked us to wait',
  unreachable: 'the platform could not be reached; nothing was sent',
  no_readable_answer: 'the call left, and no readable answer came back',
  deliver_threw: 'the adapter broke while sending',
  send_threw: 'the gateway or the adapter broke before it was sent, or around it; the log says where (send_threw)',
  holder_died: 'the process died while it was sending',
  restored: 'it waited when the backup was made that was restored since, and may have been sent in between',
  held_too_long: 'the process had been asleep and did not dare to send',
  no_lookup: 'the platform offers no way to look a message up',
  lookup_threw: 'the adapter broke while looking it up',
  found_by_lookup: 'a look-up at the platform found it: it had arrived',
  absent_by_lookup: 'a look-up at the platform did not find it: it had not arrived',
  earlier_part_failed: 'an earlier part of the same reply failed',
  question_decided: 'what it asks was decided, withdrawn or had expired before it could be sent',
  decided_meanwhile: 'what it asks was decided while it was on its way',
  not_private: 'it is for one person, and could not be said to them alone there',
  outcome_shown: 'what it asks had been decided meanwhile, and it says so now',
  outcome_not_shown: 'what it asks had been decided meanwhile, and it could not be changed any more',
  expired: 'it was not wanted any more by the time it could be sent',
  unspecified: 'the server that sent it back gave no code',
  dropped_by_operator: 'an operator let it go',
  resent_by_operator: 'an operator had it sent again',
}

/** A code with dots is also known by what stands before its last dot: `5.1.1` by `5.1`. */
function findReasonText(code: string, own: ChannelReasons): string | undefined {
  return reasonTexts[code] ?? own[code] ?? own[code.slice(0, Math.max(0, code.lastIndexOf('.')))]
}

/** False for codes that are not explained anywhere. */
export function hasReasonText(code: string, own: ChannelReasons = {}): boolean {
  return findReasonText(code, own) !== undefined
}

/** `words (code)`, or the code alone. */
export function reasonText(code: string, own: ChannelReasons = {}): string {
  const [head = '', ...rest] = code.split(':')
  if (head === 'gave_up')
    return `it was tried for as long as allowed; the last time: ${reasonText(rest.join(':'), own)}`
  if (head === 'place_closed') return `the platform had said that nothing can be sent there any more: ${rest.join(':')}`
  const known = findReasonText(code, own)
  return known === undefined ? code : `${known} (${code})`
}

const accessRuleTexts: Readonly<Record<string, string>> = {
  public: 'the connection is open to every verified sender',
  allow_list: 'the connection answers only those on its allow list',
  pairing: 'the connection answers only those who were paired with it',
  closed: 'the connection answers no sender',
}

export function accessRuleText(rule: string): string {
  if (rule.startsWith('limit ')) return `the ${rule}`
  if (rule.startsWith('grant ')) return `${rule}: what an operator wrote down about the sender`
  return `${rule}: ${accessRuleTexts[rule] ?? 'a rule of the configuration'}`
}
