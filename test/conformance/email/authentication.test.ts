// Email authentication cases: EM-001 to EM-036 and EM-01 to EM-05.
import { conform } from '../conform.ts'
import { authorCases, messageCases, transportCases } from './authentication-cases.ts'
import { signatureCases } from './signature-cases.ts'

conform('signatures and policies', signatureCases)
conform('the author', authorCases)
conform('on the way', transportCases)
conform('mail', messageCases)
