// Writes each mail as a file into a folder, for development without a server. The envelope stands before it, as servers note it.
import { nodeFiles } from './node-parts.ts'
import type { SendMail } from './smtp.ts'

export function createFolderMailer(folder: string): SendMail {
  return async ({ raw, envelope, messageId }) => {
    const { mkdir, open, rename } = await nodeFiles()
    // The id is ours: letters, digits, dots and one at sign. The same mail again is the same file.
    const path = `${folder}/${messageId.replace('@', '_at_')}.eml`
    const head = `X-Envelope-From: <${envelope.from}>\r\nX-Envelope-To: ${envelope.to.map((to) => `<${to}>`).join(', ')}\r\n`
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const file = await open(`${path}.part`, 'w', 0o600)
      try {
        await file.writeFile(head)
        await file.writeFile(raw)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.part`, path)
      return { kind: 'delivered', vendorId: messageId }
    } catch {
      return { kind: 'retry', reason: 'mail_folder_not_writable' }
    }
  }
}
