/** Custom search attributes of the namespace, all keywords: an SQL store has room for ten of those. */
export const searchAttributes = {
  organization: 'OrgId',
  resource: 'ResourceId',
  correlation: 'CorrelationId',
  deliveryStatus: 'DeliveryStatus',
} as const;
