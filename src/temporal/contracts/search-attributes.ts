/** Custom search attributes of the namespace, all keywords: an SQL store has room for ten of those. */
export const searchAttributes = {
  organization: 'OrgId',
  resource: 'ResourceId',
  deliveryStatus: 'DeliveryStatus',
} as const;
