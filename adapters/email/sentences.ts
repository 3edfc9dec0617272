// What only the email channel says to people: in mails, and on the pages of approval links.
import type { SpeakingDeps } from '../../src/contract/index.ts'

export const emailSentences = {
  'email.see_files': 'See the attached files.',
  'email.on_wrote': 'On {time}, {who} wrote:',
  'email.wrote': '{who} wrote:',
  'email.you': 'you',
  'email.no_subject': '(no subject)',
  'email.quote_cut': '[…]',
  'email.decide': '{about}Reply with {approve} or {reject} as the first line',
  'email.decide_until': '{about}Until {time}, reply with {approve} or {reject} as the first line',
  'email.decide_by_mail': '{how}.',
  'email.decide_in_browser': '{how}, or decide in your browser: ',
  'email.file_too_large': '{file} is too large for a mail.',
  'email.file_too_large_link': 'Too large for a mail: ',
  'email.file_until': ' until {time}',

  'email.link_unknown': 'This link is not known',
  'email.link_unknown_remedy':
    'It may be incomplete, or its question is long over. Look for the whole link in the mail, or answer the mail itself.',
  'email.link_expired': 'This question is over',
  'email.link_expired_remedy':
    'There was no decision in time, so nothing was done. You can close this window, or ask again by mail.',
  'email.link_malformed': 'That could not be read',
  'email.link_malformed_remedy': 'Nothing was decided. Open the link in the mail again and press one of the buttons.',
  'email.link_refused': 'That decision cannot be taken here',
  'email.link_refused_remedy': 'Nothing was decided. Answer the mail instead.',
  'email.link_approved': 'Approved',
  'email.link_rejected': 'Rejected',
  'email.link_decided': '{agent} is told, and you get a mail about what comes of it. You can close this window.',
  'email.link_approved_before': 'This was approved already',
  'email.link_rejected_before': 'This was rejected already',
  'email.link_decided_before': 'This was decided already',
  'email.link_works_once': 'The link works once. You can close this window.',
  'email.link_asks': '{agent} asks for your approval',
  'email.link_question': 'May I do this?',
  'email.link_request': 'Request {code}',
  'email.link_decider': 'You decide as',
  'email.link_until': 'Open until',
  'email.link_until_decided': 'it is decided',
  'email.link_code': 'Code',
  'email.link_explained':
    'The mail that brought you here has the details. Nothing happens until you press a button. The link works once and is for you alone: anyone who has it can decide for you.',
} as const

export type EmailSay = SpeakingDeps<typeof emailSentences>['say']
