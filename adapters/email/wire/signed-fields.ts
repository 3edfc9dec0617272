// Which fields of a mail count. Where an author is proven by a signature, a field that is not signed is a claim of the server that handed the
// mail over: it may keep a mail from being answered, and chooses neither its words nor its thread nor its name. Pure.
import type { MailHead, MailProof } from './judged.ts'

/** True where only the author could have written it, and where no author is proven at all: then all fields count alike. */
export function isFieldCounted(
  { signatures, signedHeaders }: Pick<MailProof, 'signatures' | 'signedHeaders'>,
  name: string,
): boolean {
  return signatures.length === 0 || signedHeaders.includes(name)
}

/**
 * The head with nothing in it that is not the author's. `hasToken`: it was sent to an address with a reply token of ours, which is signed
 * with the recipients: then what it refers to may be read, too. Recipients stay: others in a mail make it less direct, never more.
 */
export function countedHead(head: MailHead, proof: MailProof, hasToken: boolean): MailHead {
  const isAuthorField = (name: string): boolean => isFieldCounted(proof, name)
  return {
    ...head,
    subject: isAuthorField('subject') ? head.subject : '',
    replyTo: isAuthorField('reply-to') ? head.replyTo : [],
    inReplyTo: isAuthorField('in-reply-to') || hasToken ? head.inReplyTo : [],
    references: isAuthorField('references') || hasToken ? head.references : [],
    threadIndex: isAuthorField('thread-index') || hasToken ? head.threadIndex : undefined,
    date: isAuthorField('date') ? head.date : undefined,
  }
}

/** Fields that say how the body is read, of those that do not count. */
export function uncountedContent(proof: MailProof): readonly string[] {
  return contentFields.filter((name) => !isFieldCounted(proof, name))
}

const contentFields = ['content-type', 'content-transfer-encoding', 'content-disposition', 'content-id']
