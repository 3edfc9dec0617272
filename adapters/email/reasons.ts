// What the codes mean that only the email channel gives, in words for operators.

/** What a server says of a mail it does not take, by the subject of its code (RFC 3463 section 3). */
const serverSubjects: Readonly<Record<string, string>> = {
  1: 'the address is not known there',
  2: 'the mailbox there takes nothing now',
  3: 'the server there cannot take it',
  4: 'no way there was found in time',
  5: 'the servers on the way did not understand each other',
  6: 'the server there does not take what is in it',
  7: 'the server there does not want it',
}

export const emailReasons: Readonly<Record<string, string>> = {
  auto_submitted: 'it says that a machine wrote it by itself, and machines are not answered',
  auto_response_suppressed: 'it asks machines not to answer it',
  machine_generated: 'a machine wrote it, and machines are not answered',
  mailing_list: 'it came through a list, where an answer would go to many',
  bulk: 'it was sent to many at once, and such things are not answered',
  null_sender: 'it names no sender that an answer could go to, as reports and automatic answers do',
  mailer_daemon: 'a server wrote it about something that was sent',
  unknown_recipient: 'no agent here has the address it was sent to',
  spoofed_sender: 'the domain that it claims to be from disowns it',
  too_many_recipients: 'it names more recipients than are taken at once',
  too_many_hops: 'agents had answered each other as often in a row as they may; this one more is not taken',
  loop: 'it has been here before, or has gone round too often',
  bounced: 'the server that sent it back said nothing that could be read',
  ...Object.fromEntries(
    Object.entries(serverSubjects).flatMap(([subject, text]) => [
      [`4.${subject}`, text],
      [`5.${subject}`, text],
    ]),
  ),
}
