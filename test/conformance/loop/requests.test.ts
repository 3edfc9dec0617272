import { conform } from '../conform.ts'
import { requestCases } from './request-cases.ts'

conform('what a run is asked to do', requestCases)
