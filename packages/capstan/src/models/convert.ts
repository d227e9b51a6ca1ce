/** capstan/models/convert: histories of other SDKs as messages of Capstan and back. */

export {
  fromMessages,
  type HistoryFormat,
  type ReadHistory,
  type Repair,
  type RepairCode,
  toMessages,
} from "@capstan/models/convert";
