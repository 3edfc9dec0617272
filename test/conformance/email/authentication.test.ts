// mail 9.5 (EM-001 to EM-036) and msg 17.5 (EM-01 to EM-05).
import { conform } from '../conform.ts'
import { authorCases, messageCases, transportCases } from './authentication-cases.ts'
import { signatureCases } from './signature-cases.ts'

conform('mail 9.5: signatures and policies', signatureCases)
conform('mail 9.5: the author', authorCases)
conform('mail 9.5: on the way', transportCases)
conform('msg 17.5: mail', messageCases)
